package tutti.wire;

import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Completion;
import tutti.core.txn.TransactionId;
import tutti.node.TransactionOutcome;
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
 * The engine gets a statement with the answer in it, so that it is up to the engine how results are sent.
 */
final class ClusterQuestion {
    private static final Pattern FORM = Pattern.compile(
            "\\s*SELECT\\s+tutti_(outcome|position|wait)\\s*\\(\\s*(?:'([^']*)'|(\\d{1,18}))?\\s*\\)\\s*;?\\s*",
            Pattern.CASE_INSENSITIVE);

    private final String about;
    private final @Nullable TransactionId transaction;
    private final long position;

    private ClusterQuestion(String about, @Nullable TransactionId transaction, long position) {
        this.about = about;
        this.transaction = transaction;
        this.position = position;
    }

    /** Reads one; null if the statement is none, so that the engine will say what is wrong with it. */
    static @Nullable ClusterQuestion read(byte[] sql, int length) {
        Matcher form = FORM.matcher(new String(sql, 0, length, StandardCharsets.UTF_8));
        if (!form.matches()) {
            return null;
        }
        String about = form.group(1).toLowerCase(java.util.Locale.ROOT);
        String text = form.group(2);
        String number = form.group(3);
        return switch (about) {
            case "outcome" -> {
                try {
                    yield text == null ? null : new ClusterQuestion(about, TransactionId.parse(text), -1);
                } catch (IllegalArgumentException notOne) {
                    yield null;
                }
            }
            case "position" -> text == null && number == null ? new ClusterQuestion(about, null, -1) : null;
            default -> text != null
                    ? null
                    : new ClusterQuestion(about, null, number == null ? -1 : Long.parseLong(number));
        };
    }

    /** Asks the node; told the statement for the engine. On any thread, perhaps at once. */
    void ask(Transactions node, Completion<String> statement) {
        if (transaction != null) {
            node.outcome(transaction, map(statement, (TransactionOutcome outcome) -> "SELECT '" + switch (outcome) {
                case COMMITTED -> "committed";
                case ABORTED -> "aborted";
                case IN_PROGRESS -> "in progress";
                case UNKNOWN -> "unknown";
            } + "'::pg_catalog.text AS tutti_outcome"));
        } else if (about.equals("position")) {
            statement.succeeded(positionAt(node.visiblePosition()));
        } else if (position >= 0) {
            node.await(position, map(statement, this::positionAt));
        } else {
            node.awaitAll(map(statement, this::positionAt));
        }
    }

    private String positionAt(long visible) {
        return "SELECT " + visible + "::pg_catalog.int8 AS tutti_" + about;
    }

    private static <T> Completion<T> map(Completion<String> to, java.util.function.Function<T, String> text) {
        return new Completion<>() {
            @Override
            public void succeeded(T value) {
                to.succeeded(text.apply(value));
            }

            @Override
            public void failed(tutti.core.spi.EngineFailure failure) {
                to.failed(failure);
            }
        };
    }
}
