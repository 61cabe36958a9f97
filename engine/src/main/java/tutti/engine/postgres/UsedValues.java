package tutti.engine.postgres;

import java.io.IOException;
import java.time.Duration;
import tutti.pgwire.BackendConnection;

/**
 * Sees to it, in a database that is a copy of another node's, that sequences give no value which this node has given before: in the
 * copy they stand where the other node had come to with its own values. Columns tell how far this one had come: the sequences go on
 * behind the highest value of each column that draws from them. Of sequences from which no column draws, nobody knows.
 */
final class UsedValues {
    /** A column without an index is read from its beginning to its end. */
    private static final Duration TIMEOUT = Duration.ofHours(1);
    private static final String PASS = """
            DO $tutti$
            DECLARE
                s record;
                state record;
                highest numeric;
                next numeric;
            BEGIN
                FOR s IN SELECT q.*, pg_catalog.format('%I.%I', t.nspname, r.relname) AS table_name,
                            pg_catalog.quote_ident(a.attname) AS column_name
                        FROM (SELECT d.objid AS sequence, d.refobjid AS relation, d.refobjsubid AS attribute
                                FROM pg_catalog.pg_depend d
                                WHERE d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass
                                    AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
                                    AND d.deptype IN ('a', 'i') AND d.refobjsubid > 0
                            UNION SELECT d.refobjid, f.adrelid, f.adnum
                                FROM pg_catalog.pg_depend d JOIN pg_catalog.pg_attrdef f ON f.oid = d.objid
                                WHERE d.classid = 'pg_catalog.pg_attrdef'::pg_catalog.regclass
                                    AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass) used
                            JOIN tutti.sequences own ON own.sequence = used.sequence
                            JOIN pg_catalog.pg_sequence q ON q.seqrelid = used.sequence
                            JOIN pg_catalog.pg_class r ON r.oid = used.relation AND r.relkind IN ('r', 'p')
                            JOIN pg_catalog.pg_namespace t ON t.oid = r.relnamespace
                            JOIN pg_catalog.pg_attribute a ON a.attrelid = r.oid AND a.attnum = used.attribute
                                AND a.atttypid IN ('pg_catalog.int2'::pg_catalog.regtype,
                                    'pg_catalog.int4'::pg_catalog.regtype, 'pg_catalog.int8'::pg_catalog.regtype,
                                    'pg_catalog.numeric'::pg_catalog.regtype) LOOP
                    EXECUTE pg_catalog.format('SELECT %s(%s) FROM %s',
                        CASE WHEN s.seqincrement > 0 THEN 'pg_catalog.max' ELSE 'pg_catalog.min' END,
                        s.column_name, s.table_name) INTO highest;
                    EXECUTE pg_catalog.format('SELECT last_value FROM %s', s.seqrelid::pg_catalog.regclass)
                        INTO STRICT state;
                    next := state.last_value + s.seqincrement::pg_catalog.numeric
                        * greatest(0, pg_catalog.ceil((highest - state.last_value) / s.seqincrement) + 1);
                    IF next <> state.last_value AND next BETWEEN s.seqmin AND s.seqmax THEN
                        PERFORM pg_catalog.setval(s.seqrelid::pg_catalog.regclass, next::pg_catalog.int8, false);
                    END IF;
                END LOOP;
            END $tutti$""";

    private UsedValues() {}

    /** Whether the database has been another node's; asked before capture is installed again. */
    static boolean isOfAnother(BackendConnection connection, int nodeIndex) throws IOException, InterruptedException {
        return !Integer.toString(nodeIndex)
                .equals(connection.execute("SELECT node_index FROM tutti.node", TIMEOUT).value());
    }

    /** Has sequences go on behind the values in columns; after capture has been installed. */
    static void pass(BackendConnection connection) throws IOException, InterruptedException {
        connection.execute(PASS, TIMEOUT);
    }
}
