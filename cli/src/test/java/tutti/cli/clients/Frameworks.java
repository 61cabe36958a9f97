package tutti.cli.clients;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import jakarta.persistence.Entity;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import jakarta.persistence.Version;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import javax.sql.DataSource;
import org.hibernate.SessionFactory;
import org.hibernate.cfg.AvailableSettings;
import org.hibernate.cfg.Configuration;
import org.springframework.dao.ConcurrencyFailureException;
import org.springframework.dao.DuplicateKeyException;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

/** What applications do by way of a pool, of Spring and of Hibernate, with nothing set up but the URL. */
final class Frameworks {
    private Frameworks() {}

    private static HikariDataSource pool(String url) {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(url);
        config.setMaximumPoolSize(4);
        return new HikariDataSource(config);
    }

    /** Many threads share a few connections. */
    static void hikari(String url) throws Exception {
        try (HikariDataSource pool = pool(url)) {
            try (Connection connection = pool.getConnection()) {
                connection.createStatement().execute("CREATE TABLE pooled (id INTEGER PRIMARY KEY)");
            }
            AtomicInteger ids = new AtomicInteger();
            List<SQLException> failures = new ArrayList<>();
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                threads.add(Thread.ofPlatform().start(() -> {
                    for (int j = 0; j < 10; j++) {
                        try (Connection connection = pool.getConnection();
                                var insert = connection.prepareStatement("INSERT INTO pooled VALUES (?)")) {
                            connection.setAutoCommit(ids.get() % 2 == 0);
                            insert.setInt(1, ids.incrementAndGet());
                            insert.executeUpdate();
                            if (!connection.getAutoCommit()) {
                                connection.commit();
                            }
                        } catch (SQLException failed) {
                            synchronized (failures) {
                                failures.add(failed);
                            }
                        }
                    }
                }));
            }
            for (Thread thread : threads) {
                thread.join();
            }
            assertEquals(List.of(), failures);
            try (Connection connection = pool.getConnection();
                    var rows = connection.createStatement().executeQuery("SELECT COUNT(*) FROM pooled")) {
                assertTrue(rows.next());
                assertEquals(80, rows.getInt(1));
            }
        }
    }

    /** Templates, transactions that commit, roll back or only read, and the translation of errors. */
    static void spring(String url) {
        try (HikariDataSource pool = pool(url)) {
            JdbcTemplate jdbc = new JdbcTemplate(pool);
            TransactionTemplate inTransaction = new TransactionTemplate(new JdbcTransactionManager(pool));
            jdbc.execute("CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER)");
            inTransaction.executeWithoutResult(status -> {
                jdbc.update("INSERT INTO account VALUES (?, ?)", 1, 100);
                jdbc.update("INSERT INTO account VALUES (?, ?)", 2, 100);
            });
            assertThrows(IllegalStateException.class, () -> inTransaction.executeWithoutResult(status -> {
                jdbc.update("UPDATE account SET balance = 0");
                throw new IllegalStateException("to roll back");
            }));
            TransactionTemplate reading = new TransactionTemplate(new JdbcTransactionManager(pool));
            reading.setReadOnly(true);
            String sum = reading
                    .execute(status -> jdbc.queryForObject("SELECT SUM(balance) FROM account", String.class));
            assertEquals("200", sum);
            assertThrows(DuplicateKeyException.class, () -> jdbc.update("INSERT INTO account VALUES (1, 1)"));
            JdbcTemplate another = new JdbcTemplate(pool);
            assertThrows(ConcurrencyFailureException.class, () -> inTransaction.executeWithoutResult(status -> {
                // It has seen what the other changes, so its node cannot run it again unnoticed.
                jdbc.queryForObject("SELECT SUM(balance) FROM account", Integer.class);
                Thread other = Thread.ofPlatform()
                        .start(() -> another.update("UPDATE account SET balance = balance + 1 WHERE id = 1"));
                join(other);
                jdbc.update("UPDATE account SET balance = balance + 1 WHERE id = 1");
            }));
            assertEquals("101", jdbc.queryForObject("SELECT balance FROM account WHERE id = ?", String.class, 1));
        }
    }

    private static void join(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** An entity. */
    @Entity(name = "Item")
    static class Item {
        @Id
        @GeneratedValue(strategy = GenerationType.SEQUENCE)
        private long id;
        @Version
        private int version;
        private String name;

        /** For Hibernate. */
        Item() {}

        Item(String name) {
            this.name = name;
        }
    }

    /** A schema made from entities, entities written, changed and found; and all that again after a restart. */
    static void hibernate(String url) {
        try (HikariDataSource pool = pool(url)) {
            try (SessionFactory factory = factory(pool, "create")) {
                factory.inTransaction(session -> {
                    for (int i = 0; i < 60; i++) {
                        session.persist(new Item("item " + i));
                    }
                });
                factory.inTransaction(
                        session -> session.createSelectionQuery("from Item where name = 'item 7'", Item.class)
                                .getSingleResult().name = "changed");
            }
            try (SessionFactory factory = factory(pool, "validate")) {
                factory.inTransaction(session -> session.persist(new Item("after a restart")));
                factory.inSession(session -> {
                    session.setDefaultReadOnly(true);
                    List<Item> items = session.createSelectionQuery("from Item order by id", Item.class)
                            .getResultList();
                    assertEquals(61, items.size());
                    assertEquals(1, items.stream().filter(item -> item.name.equals("changed") && item.version == 1)
                            .count());
                    assertFalse(items.getFirst().id == items.getLast().id);
                });
            }
        }
    }

    private static SessionFactory factory(DataSource pool, String schema) {
        Configuration configuration = new Configuration().addAnnotatedClass(Item.class)
                .setProperty(AvailableSettings.HBM2DDL_AUTO, schema);
        configuration.getProperties().put(AvailableSettings.JAKARTA_NON_JTA_DATASOURCE, pool);
        return configuration.buildSessionFactory();
    }
}
