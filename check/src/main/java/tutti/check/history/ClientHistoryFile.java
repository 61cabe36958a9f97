package tutti.check.history;

import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;
import tutti.workload.bank.BankHistory;
import tutti.workload.bank.BankOperation;
import tutti.workload.bank.BankTransaction;
import tutti.workload.client.ClientOutcome;
import tutti.workload.listappend.ListAppendHistory;
import tutti.workload.listappend.ListAppendOperation;
import tutti.workload.listappend.ListAppendTransaction;

/**
 * What clients saw, as files of JSON lines: a header, then one line per transaction. An append is written as
 * {@code ["append", key, value]}, a read as {@code ["read", key, [value, …]]}; a transfer as
 * {@code ["transfer", number, from, to, amount]}, a read of all balances as {@code ["balances", [balance, …]]}.
 */
public final class ClientHistoryFile {
    private static final String LIST_APPEND = "tutti-list-append";
    private static final String BANK = "tutti-bank";

    private ClientHistoryFile() {}

    /** Writes, replacing what is there. */
    public static void write(ListAppendHistory history, Path file) throws IOException {
        try (BufferedWriter to = Files.newBufferedWriter(file, StandardCharsets.UTF_8)) {
            JsonLines.write(to, JsonLines.header(LIST_APPEND).put("transactions", history.size()));
            for (int i = 0; i < history.size(); i++) {
                JsonLines.write(to, line(history.transaction(i)));
            }
        }
    }

    /** Writes, replacing what is there. */
    public static void write(BankHistory history, Path file) throws IOException {
        List<BankTransaction> transactions = history.transactions();
        try (BufferedWriter to = Files.newBufferedWriter(file, StandardCharsets.UTF_8)) {
            JsonLines.write(to, JsonLines.header(BANK).put("transactions", transactions.size())
                    .put("accounts", history.accounts()).put("initialBalance", history.initialBalance()));
            for (BankTransaction transaction : transactions) {
                JsonLines.write(to, line(transaction));
            }
        }
    }

    /**
     * Reads a list-append history.
     *
     * @throws IOException naming file and line, if it cannot be read or is something else
     */
    public static ListAppendHistory readListAppend(Path file) throws IOException {
        ListAppendHistory history = new ListAppendHistory(Integer.MAX_VALUE);
        JsonLines.read(file, LIST_APPEND, _ -> {}, line -> {
            List<ListAppendOperation> operations = new ArrayList<>();
            for (JsonNode operation : line.required("operations")) {
                operations.add(listAppend(operation));
            }
            boolean _ = history.add(new ListAppendTransaction(line.get("session").asInt(), line.get("node").asInt(),
                    line.get("begun").asLong(), line.get("ended").asLong(), outcome(line),
                    line.path("last").asBoolean(false), operations));
        });
        return history;
    }

    /**
     * Reads a bank history.
     *
     * @throws IOException naming file and line, if it cannot be read or is something else
     */
    public static BankHistory readBank(Path file) throws IOException {
        Bank bank = new Bank();
        JsonLines.read(file, BANK,
                header -> bank.history = new BankHistory(header.required("accounts").asInt(),
                        header.required("initialBalance").asLong(), Integer.MAX_VALUE),
                line -> {
                    boolean _ = bank.history().add(new BankTransaction(line.get("session").asInt(),
                            line.get("node").asInt(), line.get("begun").asLong(), line.get("ended").asLong(),
                            outcome(line), bank(line.required("operation"))));
                });
        return bank.history();
    }

    private static final class Bank {
        private @Nullable BankHistory history;

        BankHistory history() {
            if (history == null) {
                throw new IllegalStateException("there is no header");
            }
            return history;
        }
    }

    private static ObjectNode line(int session, int node, long begun, long ended, ClientOutcome outcome) {
        return JsonLines.MAPPER.createObjectNode().put("session", session).put("node", node).put("begun", begun)
                .put("ended", ended).put("outcome", outcome.name().toLowerCase(Locale.ROOT));
    }

    private static ClientOutcome outcome(JsonNode line) {
        return ClientOutcome.valueOf(line.required("outcome").asString().toUpperCase(Locale.ROOT));
    }

    private static ObjectNode line(ListAppendTransaction transaction) {
        ObjectNode line = line(transaction.session(), transaction.node(), transaction.begunNanos(),
                transaction.endedNanos(), transaction.outcome());
        if (transaction.last()) {
            line.put("last", true);
        }
        ArrayNode operations = line.putArray("operations");
        for (ListAppendOperation operation : transaction.operations()) {
            switch (operation) {
                case ListAppendOperation.Append(long key, int value) ->
                    operations.addArray().add("append").add(key).add(value);
                case ListAppendOperation.Read(long key, int[] values) -> {
                    ArrayNode list = operations.addArray().add("read").add(key).addArray();
                    for (int value : values) {
                        list.add(value);
                    }
                }
            }
        }
        return line;
    }

    private static ListAppendOperation listAppend(JsonNode operation) {
        long key = operation.get(1).asLong();
        return switch (operation.get(0).asString()) {
            case "append" -> new ListAppendOperation.Append(key, operation.get(2).asInt());
            case "read" -> {
                int[] values = new int[operation.get(2).size()];
                for (int i = 0; i < values.length; i++) {
                    values[i] = operation.get(2).get(i).asInt();
                }
                yield new ListAppendOperation.Read(key, values);
            }
            default -> throw new IllegalArgumentException("unknown operation " + operation);
        };
    }

    private static ObjectNode line(BankTransaction transaction) {
        ObjectNode line = line(transaction.session(), transaction.node(), transaction.begunNanos(),
                transaction.endedNanos(), transaction.outcome());
        ArrayNode operation = line.putArray("operation");
        switch (transaction.operation()) {
            case BankOperation.Transfer(long number, int from, int to, long amount) ->
                operation.add("transfer").add(number).add(from).add(to).add(amount);
            case BankOperation.Refused(int from, long amount) -> operation.add("refused").add(from).add(amount);
            case BankOperation.Balances(long[] balances) -> {
                ArrayNode list = operation.add("balances").addArray();
                for (long balance : balances) {
                    list.add(balance);
                }
            }
        }
        return line;
    }

    private static BankOperation bank(JsonNode operation) {
        return switch (operation.get(0).asString()) {
            case "transfer" -> new BankOperation.Transfer(operation.get(1).asLong(), operation.get(2).asInt(),
                    operation.get(3).asInt(), operation.get(4).asLong());
            case "refused" -> new BankOperation.Refused(operation.get(1).asInt(), operation.get(2).asLong());
            case "balances" -> {
                long[] balances = new long[operation.get(1).size()];
                for (int i = 0; i < balances.length; i++) {
                    balances[i] = operation.get(1).get(i).asLong();
                }
                yield new BankOperation.Balances(balances);
            }
            default -> throw new IllegalArgumentException("unknown operation " + operation);
        };
    }
}
