package tutti.pgwire;

import io.netty.buffer.ByteBuf;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Gathers the responses to a simple query. Result bytes are bounded; beyond the bound the query fails. */
public final class QueryCollector implements ResponseHandler {
    private static final long RESULT_LIMIT = 256L << 20;

    private final CompletableFuture<QueryResult> result;
    private final List<QueryResult.Statement> statements = new ArrayList<>();
    private final List<ErrorFields> notices = new ArrayList<>();
    private List<String> columns = List.of();
    private List<List<@Nullable String>> rows = new ArrayList<>();
    private long bytes;
    private @Nullable ErrorFields error;

    /** Completes the future at {@link #ready} or {@link #lost}. */
    public QueryCollector(CompletableFuture<QueryResult> result) {
        this.result = result;
    }

    @Override
    public void message(byte type, ByteBuf body) {
        switch (type) {
            case Backend.ROW_DESCRIPTION ->
                columns = Fields.rowDescription(body).stream().map(Fields.Column::name).toList();
            case Backend.DATA_ROW -> {
                bytes += body.readableBytes();
                if (bytes <= RESULT_LIMIT) {
                    rows.add(Fields.dataRow(body));
                } else if (error == null) {
                    rows.clear();
                    error = ErrorFields.of("ERROR", "54000", "the result is longer than " + RESULT_LIMIT + " bytes");
                }
            }
            case Backend.COMMAND_COMPLETE -> complete(Fields.cString(body));
            case Backend.EMPTY_QUERY -> complete("");
            case Backend.ERROR_RESPONSE -> {
                if (error == null) {
                    error = ErrorFields.read(body);
                }
            }
            case Backend.NOTICE_RESPONSE -> {
                if (notices.size() < QueryResult.NOTICE_LIMIT) {
                    notices.add(ErrorFields.read(body));
                }
            }
            default -> {
                // nothing that a result is made of
            }
        }
    }

    private void complete(String tag) {
        statements.add(new QueryResult.Statement(tag, columns, rows));
        columns = List.of();
        rows = new ArrayList<>();
    }

    @Override
    public void ready(byte status) {
        if (error == null) {
            result.complete(new QueryResult(statements, notices));
        } else {
            result.completeExceptionally(new PostgresException(error));
        }
    }

    @Override
    public void lost(Throwable cause) {
        result.completeExceptionally(cause);
    }
}
