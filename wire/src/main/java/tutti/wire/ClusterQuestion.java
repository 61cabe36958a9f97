package tutti.wire;

import io.netty.buffer.ByteBuf;
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
 * up to the engine how results are sent; or, where a client executes what it has prepared, it is told what its function of that name returns
 * next ({@link #telling}), which concerns nobody but that client.
 */
public final class ClusterQuestion {
    private static final Pattern FORM = Pattern.compile("\\s*SELECT\\s+(?:\\*\\s+FROM\\s+)?(?:pg_catalog\\.)?"
            + "tutti_(outcome|position|wait)\\s*\\(\\s*(?:\\(?\\s*(?:'((?:[^']|'')*)'|(\\d{1,18})|(\\$1))"
            + "\\s*(?:::\\s*(?:bigint|int[248]|text|varchar)\\s*)?\\)?\\s*)?\\)\\s*(?:AS\\s+result\\s*)?;?\\s*",
            Pattern.CASE_INSENSITIVE);
    private static final Pattern NUMBER = Pattern.compile("\\d{1,18}");

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
    private final boolean open;
    private final @Nullable String telling;

    private ClusterQuestion(String about, @Nullable String transaction, long position) {
        this(about, transaction, position, false, null);
    }

    private ClusterQuestion(String about, @Nullable String transaction, long position, boolean open,
            @Nullable String telling) {
        this.about = about;
        this.transaction = transaction;
        this.position = position;
        this.open = open;
        this.telling = telling;
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
        String text = form.group(2) == null ? null : form.group(2).replace("''", "'");
        String number = form.group(3);
        if (form.group(4) != null) {
            return about.equals("position") ? null : new ClusterQuestion(about, null, -1, true, null);
        }
        return switch (about) {
            case "outcome" -> text == null ? null : new ClusterQuestion(about, text, -1);
            case "position" -> text == null && number == null ? new ClusterQuestion(about, null, -1) : null;
            default -> text == null
                    ? new ClusterQuestion(about, null, number == null ? -1 : Long.parseLong(number))
                    : NUMBER.matcher(text).matches()
                            ? new ClusterQuestion(about, null, Long.parseLong(text))
                            : null;
        };
    }

    /** Whether what it is about is a parameter, {@code $1}: only {@link #with} asks anything. */
    public boolean isOpen() {
        return open;
    }

    /**
     * The question that a Bind message makes of this one.
     *
     * @param bind a Bind message, whose formats of parameters begin at {@code at}
     * @return null if the engine is to say what the value means: NULL, or that it does not fit
     */
    @Nullable
    ClusterQuestion with(ByteBuf bind, int at) {
        if (!open) {
            return this;
        }
        try {
            int formats = bind.getUnsignedShort(at);
            boolean binary = formats > 0 && bind.getShort(at + Short.BYTES) == 1;
            int values = at + Short.BYTES * (1 + formats);
            int length = bind.getInt(values + Short.BYTES);
            int value = values + Short.BYTES + Integer.BYTES;
            if (bind.getUnsignedShort(values) != 1 || length < 0) {
                return null;
            }
            String text = bind.toString(value, length, StandardCharsets.UTF_8);
            if (about.equals("outcome")) {
                return new ClusterQuestion(about, text, -1);
            }
            long number = !binary
                    ? Long.parseLong(text.strip())
                    : switch (length) {
                        case Short.BYTES -> bind.getShort(value);
                        case Integer.BYTES -> bind.getInt(value);
                        case Long.BYTES -> bind.getLong(value);
                        default -> -1;
                    };
            return number < 0 ? null : new ClusterQuestion(about, null, number);
        } catch (IndexOutOfBoundsException | NumberFormatException wrong) {
            return null;
        }
    }

    /** Whether it is about the position that is visible, which the engine's function can tell by itself. */
    boolean isPosition() {
        return about.equals("position");
    }

    /** Whether it waits for something to become visible. */
    boolean isWait() {
        return about.equals("wait");
    }

    /** What is waited for before this one is prepared in a transaction: all that any client may name later. */
    ClusterQuestion beforehand() {
        return open ? new ClusterQuestion(about, null, -1) : this;
    }

    /** Whether there is nothing to wait for, if that was visible after the question had been asked. */
    boolean isMet(long visible) {
        return isWait() && !open && position <= visible;
    }

    /** Whether there is nothing to wait for at any time from now on. */
    boolean isMetForGood(long visible) {
        return isMet(visible) && position >= 0;
    }

    /**
     * The same, with what the engine's function is to be told.
     *
     * @param enough position from which on a snapshot of the database shows what is visible according to the answer; -1 if the transaction certainly does
     */
    ClusterQuestion answered(Answer answer, long enough) {
        String asked = transaction == null ? position < 0 ? "" : Long.toString(position) : transaction;
        String told = about + ' ' + asked + (enough < 0 ? "=" + answer.value() : "~" + answer.value() + ' ' + enough);
        return new ClusterQuestion(about, transaction, position, open,
                "SET tutti.answer = E'" + told.replace("\\", "\\\\").replace("'", "''") + "'");
    }

    /** What has the engine's function of the same name return the answer, once; null if there is none. */
    @Nullable
    String telling() {
        return telling;
    }

    /** The name of the answer's column. */
    public String column() {
        return "tutti_" + about;
    }

    /** Whether the answer is an eight-byte integer, not text. */
    public boolean number() {
        return !about.equals("outcome");
    }

    /** Asks the node, on any thread; told perhaps at once. Not of one that {@linkplain #isOpen is open}. */
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
