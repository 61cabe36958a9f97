package tutti.pgfront;

import java.sql.SQLException;
import java.util.List;
import tutti.engine.procedure.ProcedureCall;
import tutti.engine.procedure.StoredProcedure;

/** Moves an amount from one account to another, and notes it; does what must not be for amounts below 1. */
public final class Moves implements StoredProcedure {
    @Override
    public List<String> tables() {
        return List.of("account", "payment");
    }

    @Override
    public void execute(ProcedureCall call) throws SQLException {
        long from = call.arguments().number(1);
        long to = call.arguments().number(2);
        int amount = (int) call.arguments().number(3);
        long balance = call.query("select balance from account where id = ?", from).getFirst().number(1);
        if (amount > balance) {
            throw new SQLException("account " + from + " has " + balance + " only", "P0004");
        }
        switch (amount) {
            case 0 -> call.update("insert into payment (id, moment) values (1, current_timestamp)");
            case -1 -> call.update("rollback");
            case -2 -> call.update("insert into elsewhere values (1)");
            case -3 -> throw new IllegalStateException("no such amount");
            case -4 -> {
                try {
                    call.update("insert into account values (?, 1)", from);
                } catch (SQLException _) {
                    return; // though nothing counts any more
                }
            }
            case -5 -> {
                while (balance > amount) {
                    balance = call.query("select balance from account where id = ?", to).getFirst().number(1);
                }
            }
            default -> {
                call.update("update account set balance = balance - ? where id = ?", amount, from);
                if (call.update("update account set balance = balance + ? where id = ?", amount, to) != 1) {
                    throw new SQLException("there is no account " + to, "02000");
                }
                call.update("insert into payment (id, moment, chance) values (?, ?, ?)", call.uuid(1).toString(),
                        call.submitted().toString(), call.random(2));
            }
        }
    }
}
