package tutti.cli.faults;

import java.sql.SQLException;
import tutti.engine.procedure.ProcedureCall;
import tutti.engine.procedure.StoredProcedure;

/** Moves an amount from one account to another, and notes it. */
public final class Transfer implements StoredProcedure {
    @Override
    public void execute(ProcedureCall call) throws SQLException {
        long from = call.arguments().number(1);
        long to = call.arguments().number(2);
        long amount = call.arguments().number(3);
        long balance = call.query("SELECT balance FROM account WHERE id = $1", from).getFirst().number(1);
        if (amount > balance) {
            throw new SQLException("account " + from + " has " + balance + " only", "P0004");
        }
        if (amount == 0) {
            call.update("INSERT INTO payment (id) VALUES (gen_random_uuid())");
        }
        if (amount < 0) {
            call.update("COMMIT");
        }
        call.update("UPDATE account SET balance = balance - $2 WHERE id = $1", from, amount);
        if (call.update("UPDATE account SET balance = balance + $2 WHERE id = $1", to, amount) != 1) {
            throw new SQLException("there is no account " + to, "02000");
        }
        call.update("INSERT INTO payment (id, at, chance) VALUES ($1, $2, $3)", call.uuid(1), call.submitted(),
                call.random(2));
    }
}
