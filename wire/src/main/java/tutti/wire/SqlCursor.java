package tutti.wire;

import java.util.Arrays;
import java.util.List;
import tutti.wire.sql.SqlTokens;

/** A piece of SQL and a place in it, which goes on token by token. Reused. Words are told apart by {@link SqlTokens#key}. */
final class SqlCursor {
    private final SqlTokens tokens = new SqlTokens();
    private int token;

    /** Begins another piece, at its first token. */
    void reset(byte[] sql, int from, int to, boolean standardConformingStrings) {
        tokens.reset(sql, from, to, standardConformingStrings);
        advance();
    }

    /** Goes to the next token. */
    void advance() {
        token = tokens.next();
    }

    /** The token: a character, or one of those that {@link SqlTokens} names. */
    int token() {
        return token;
    }

    /** Where it begins. */
    int start() {
        return tokens.start();
    }

    /** Where it ends. */
    int position() {
        return tokens.position();
    }

    /** The key of the word that stands here. */
    long word() {
        return tokens.word();
    }

    boolean atEnd() {
        return token == SqlTokens.END;
    }

    /** Whether neither the end nor a semicolon stands here. */
    boolean inStatement() {
        return token != SqlTokens.END && token != ';';
    }

    boolean at(char punctuation) {
        return token == punctuation;
    }

    boolean atWord() {
        return token == SqlTokens.WORD;
    }

    boolean atQuoted() {
        return token == SqlTokens.QUOTED;
    }

    boolean atString() {
        return token == SqlTokens.STRING;
    }

    boolean atWord(long word) {
        return token == SqlTokens.WORD && tokens.word() == word;
    }

    /** Whether one of some words stands here. */
    boolean atAny(long[] sorted) {
        return token == SqlTokens.WORD && among(sorted, tokens.word());
    }

    /** Whether one of some words stands here, as a word, a quoted identifier or a string. */
    boolean named(long... sorted) {
        return switch (token) {
            case SqlTokens.WORD -> among(sorted, tokens.word());
            case SqlTokens.QUOTED, SqlTokens.STRING -> among(sorted, tokens.content());
            default -> false;
        };
    }

    /**
     * Whether what stands here may be a name: it is that, or cannot be told.
     *
     * @param utf8 whether the text is in UTF-8
     */
    boolean mayName(String name, boolean utf8) {
        return switch (token) {
            case SqlTokens.WORD -> tokens.word() == SqlTokens.nameKey(name) || isUnclear(utf8);
            case SqlTokens.QUOTED -> tokens.content() == SqlTokens.nameKey(name) || isUnclear(utf8);
            default -> false;
        };
    }

    /** Whether a word or identifier stands here that may be another name than its letters say. */
    boolean isUnclear(boolean utf8) {
        return tokens.mayBeAnotherName(utf8);
    }

    /** Whether an identifier stands here that begins in one of some ways. */
    boolean atAnyPrefix(List<String> prefixes) {
        return (token == SqlTokens.WORD || token == SqlTokens.QUOTED) && prefixes.stream().anyMatch(tokens::startsWith);
    }

    /** Whether a plain string stands here that begins in one of some ways. */
    boolean atStringOfPrefix(List<String> prefixes) {
        return token == SqlTokens.STRING && prefixes.stream().anyMatch(tokens::startsWith);
    }

    /** As {@link SqlTokens#isPlainString}. */
    boolean isPlainString() {
        return tokens.isPlainString();
    }

    /** As {@link SqlTokens#containsAny}. */
    boolean containsAny(List<String> words) {
        return tokens.containsAny(words);
    }

    /** As {@link SqlTokens#isPlainNumber}. */
    boolean isPlainNumber() {
        return tokens.isPlainNumber();
    }

    /** As {@link SqlTokens#beginsLikeName}. */
    boolean beginsLikeName() {
        return tokens.beginsLikeName();
    }

    /** Whether the word that stands here begins with {@code pg_}. */
    boolean startsWithPg() {
        return tokens.startsWithPg();
    }

    /** Keys of words, sorted. */
    static long[] keys(String words) {
        return Arrays.stream(words.strip().split("\\s+")).mapToLong(SqlTokens::key).sorted().toArray();
    }

    static boolean among(long[] sorted, long word) {
        return Arrays.binarySearch(sorted, word) >= 0;
    }
}
