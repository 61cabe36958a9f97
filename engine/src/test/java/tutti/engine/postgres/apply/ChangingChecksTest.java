package tutti.engine.postgres.apply;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.util.List;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tutti.core.spi.EngineFailure;
import tutti.engine.EngineContract.Result;

/** What is called when rows are written has told what it changes where its client is; a replica that calls it again would change more. */
@Timeout(60)
class ChangingChecksTest {
    private static final String RANDOM = "INSERT INTO noted VALUES (gen_random_uuid())";

    /** The function is called at both; what it makes that is told by name is made at the replica alone. */
    @ParameterizedTest
    @CsvSource(quoteCharacter = '"', value = {
            RANDOM + ", \"id int PRIMARY KEY, CHECK (f(id) > 0)\"",
            RANDOM + ", \"id int PRIMARY KEY, word d DEFAULT 1\"",
            RANDOM + ", \"id int PRIMARY KEY, made int GENERATED ALWAYS AS (g(id)) STORED\"",
            RANDOM + ", \"id int PRIMARY KEY, EXCLUDE (g(id) WITH =)\"",
            "TRUNCATE noted, \"id int PRIMARY KEY, CHECK (f(id) > 0)\"",
            "CREATE TABLE IF NOT EXISTS made (id int), \"id int PRIMARY KEY, CHECK (f(id) > 0)\""})
    void whatIsCalledForARowMayChangeNothing(String change, String columns) throws Exception {
        try (Pair pair = new Pair("CREATE TABLE noted (id uuid)", """
                CREATE FUNCTION f(asked int) RETURNS int LANGUAGE plpgsql AS $$
                    BEGIN
                        IF asked < 10 AND (session_user LIKE 'tutti\\_%%' OR '%1$s' LIKE 'INSERT%%') THEN %1$s; END IF;
                        RETURN asked;
                    END $$;
                CREATE FUNCTION g(asked int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN RETURN f(asked); END $$;
                CREATE DOMAIN d AS int CHECK (f(VALUE) > 0)""".formatted(change),
                "CREATE TABLE checked (" + columns + ")")) {
            pair.transaction("INSERT INTO checked VALUES (10" + (columns.contains("DEFAULT") ? ", 10" : "") + ")")
                    .assertEqual("checked");
            Result<Void> applied = new Result<>();
            pair.applier.apply(pair.position + 1, List.of(pair.session.commit("INSERT INTO checked VALUES (1)")),
                    applied);
            EngineFailure failure = applied.failure();
            assertEquals("0A000", failure.sqlState(), failure.toString());
            assertFalse(failure.transientFailure(), failure.toString());
            assertEquals("[[0]]", Pair.rows(pair.other, "SELECT count(*) FROM noted").toString());
        }
    }
}
