package tutti.wire;

import java.nio.charset.StandardCharsets;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Completion;
import tutti.core.spi.EngineFailure;
import tutti.core.txn.TransactionId;
import tutti.node.Transactions;

/**
 * A question that only the node can answer, asked in SQL as if by a function:
 *
 * <ul>
 * <li>{@code SELECT tutti_outcome('1:2.3')}: what became of a transaction, of any node: {@code committed},
 * {@code aborted}, {@code in progress} (ask again) or {@code unknown};
 * <li>{@code SELECT tutti_position()}: which position of the order is visible here;
 * <li>{@code SELECT tutti_wait(17)}: waits until that position is visible, and answers which one is;
 * <li>{@code SELECT tutti_wait()}: the same for all that any client has been told of before.
 * </ul>
 *
 * Where there is an engine behind the front end that understands it, it gets a statement with the answer in it, so that it is
 * up to the engine how results are sent.
 */
public final class ClusterQuestion {
    private static final Pattern FORM = Pattern.compile(
            "\\s*SELECT\\s+tutti_(outcome|position|wait)\\s*\\(\\s*(?:'([^']*)'|(\\d{1,18}))?\\s*\\)\\s*;?\\s*",
            Pattern.CASE_INSENSITIVE);

    /**
     * What the node says.
     *
     * @param column the function's name
     * @param number whether it is an eight-byte integer, not text
     */
    public record Answer(String column, String value, boolean number) {
        /** A statement that answers it. */
        String statement() {
            return "SELECT " + (number ? value + "::pg_catalog.int8" : "'" + value + "'::pg_catalog.text") + " AS "
                    + column;
        }
    }

    private final String about;
    private final @Nullable String transaction;
    private final long position;

    private ClusterQuestion(String about, @Nullable String transaction, long position) {
        this.about = about;
        this.transaction = transaction;
        this.position = position;
    }

    /** Reads one; null if the statement is none, so that the engine will say what is wrong with it. */
    static @Nullable ClusterQuestion read(byte[] sql, int length) {
        return read(new String(sql, 0, length, StandardCharsets.UTF_8));
    }

    /** Likewise. */
    public static @Nullable ClusterQuestion read(String sql) {
        Matcher form = FORM.matcher(sql);
        if (!form.matches()) {
            return null;
        }
        String about = form.group(1).toLowerCase(java.util.Locale.ROOT);
        String text = form.group(2);
        String number = form.group(3);
        return switch (about) {
            case "outcome" -> text == null ? null : new ClusterQuestion(about, text, -1);
            case "position" -> text == null && number == null ? new ClusterQuestion(about, null, -1) : null;
            default -> text != null
                    ? null
                    : new ClusterQuestion(about, null, number == null ? -1 : Long.parseLong(number));
        };
    }

    /** The name of the answer's column. */
    public String column() {
        return "tutti_" + about;
    }

    /** Whether the answer is an eight-byte integer, not text. */
    public boolean number() {
        return transaction == null;
    }

    /** Asks the node, on any thread; told perhaps at once. */
    public void ask(Transactions node, Completion<Answer> answer) {
        if (transaction != null) {
            TransactionId named;
            try {
                named = node.names().read(transaction);
            } catch (IllegalArgumentException notOne) {
                answer.failed(new EngineFailure("22023", String.valueOf(notOne.getMessage()), false));
                return;
            }
            node.outcome(named, map(answer, outcome -> new Answer(column(), switch (outcome) {
                case COMMITTED -> "committed";
                case ABORTED -> "aborted";
                case IN_PROGRESS -> "in progress";
                case UNKNOWN -> "unknown";
            }, false)));
        } else if (about.equals("position")) {
            answer.succeeded(positionAt(node.visiblePosition()));
        } else if (position >= 0) {
            node.await(position, map(answer, this::positionAt));
        } else {
            node.awaitAll(map(answer, this::positionAt));
        }
    }

    private Answer positionAt(long visible) {
        return new Answer(column(), Long.toString(visible), true);
    }

    private static <T> Completion<T> map(Completion<Answer> to, Function<T, Answer> answer) {
        return new Completion<>() {
            @Override
            public void succeeded(T value) {
                to.succeeded(answer.apply(value));
            }

            @Override
            public void failed(EngineFailure failure) {
                to.failed(failure);
            }
        };
    }
}
