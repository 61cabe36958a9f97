package tutti.suites;

import jakarta.persistence.LockModeType;
import jakarta.persistence.metamodel.EntityType;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.hibernate.boot.Metadata;
import org.hibernate.boot.MetadataSources;
import org.hibernate.boot.registry.StandardServiceRegistry;
import org.hibernate.boot.registry.StandardServiceRegistryBuilder;
import org.hibernate.engine.spi.SharedSessionContractImplementor;
import org.hibernate.id.Assigned;
import org.hibernate.persister.entity.EntityPersister;
import org.hibernate.testing.orm.domain.StandardDomainModel;

/**
 * Has Hibernate use the domain models that it publishes for tests: makes their tables, writes what it can of each entity, reads it back in several
 * ways and under each lock, changes, refreshes and removes it, validates the schema and drops it. Hibernate's own test classes are not
 * published. A line of JSON for each step goes to the file that OUTCOMES names. Usage: URL USER PASSWORD [WORD in the names].
 */
public final class HibernateDomains {
    private static final int MESSAGE_CHARS = 600;
    private static final int ROWS = 3;
    private static Path file;
    private static String only = "";
    private static int keys;

    private HibernateDomains() {}

    private interface Step {
        void run() throws Exception;
    }

    public static void main(String[] args) throws IOException {
        file = Path.of(System.getenv("OUTCOMES"));
        only = args.length > 3 ? args[3] : "";
        for (StandardDomainModel model : StandardDomainModel.values()) {
            Map<String, Object> settings = new TreeMap<>();
            settings.put("jakarta.persistence.jdbc.url", args[0]);
            settings.put("jakarta.persistence.jdbc.user", args[1]);
            settings.put("jakarta.persistence.jdbc.password", args[2]);
            settings.put("hibernate.connection.pool_size", 4);
            settings.put("hibernate.jdbc.batch_size", 10);
            StandardServiceRegistry registry = new StandardServiceRegistryBuilder().applySettings(settings).build();
            try {
                run(model, registry);
            } finally {
                StandardServiceRegistryBuilder.destroy(registry);
            }
        }
    }

    private static void run(StandardDomainModel model, StandardServiceRegistry registry) throws IOException {
        Metadata[] metadata = new Metadata[1];
        SessionFactory[] factory = new SessionFactory[1];
        step(model + ": metadata", () -> {
            MetadataSources sources = new MetadataSources(registry);
            model.getDescriptor().applyDomainModel(sources);
            metadata[0] = sources.buildMetadata();
        });
        step(model + ": factory", () -> factory[0] = metadata[0].getSessionFactoryBuilder().build());
        if (factory[0] == null) {
            return;
        }
        try (SessionFactory all = factory[0]) {
            step(model + ": create", () -> all.getSchemaManager().exportMappedObjects(true));
            step(model + ": validate", () -> all.getSchemaManager().validateMappedObjects());
            List<EntityType<?>> entities = new ArrayList<>(all.getMetamodel().getEntities());
            entities.sort(Comparator.comparing(EntityType::getName));
            for (EntityType<?> entity : entities) {
                entity(model + "." + entity.getName(), all, entity);
            }
            step(model + ": truncate", () -> all.getSchemaManager().truncateMappedObjects());
            step(model + ": drop", () -> all.getSchemaManager().dropMappedObjects(true));
        }
    }

    private static void entity(String name, SessionFactory all, EntityType<?> entity) throws IOException {
        String from = "from " + entity.getName() + " e";
        step(name + ": persist", () -> all.inTransaction(session -> {
            for (int i = 0; i < ROWS; i++) {
                session.persist(made(session, entity.getJavaType()));
            }
        }));
        step(name + ": persist one by one", () -> all.inTransaction(session -> {
            session.persist(made(session, entity.getJavaType()));
            session.flush();
        }));
        step(name + ": count", () -> all.inTransaction(
                session -> session.createSelectionQuery("select count(*) " + from, Long.class).getSingleResult()));
        step(name + ": page", () -> all.inTransaction(session -> session.createSelectionQuery(from + " order by e.id", Object.class)
                .setFirstResult(1).setMaxResults(2).getResultList()));
        step(name + ": scroll", () -> all.inTransaction(session -> {
            try (var rows = session.createSelectionQuery(from, Object.class).setFetchSize(1).scroll()) {
                while (rows.next()) {
                    rows.get();
                }
            }
        }));
        for (LockModeType lock : LockModeType.values()) {
            step(name + ": lock " + lock, () -> all.inTransaction(
                    session -> session.createSelectionQuery(from, Object.class).setLockMode(lock).setMaxResults(2).getResultList()));
        }
        step(name + ": refresh and detach", () -> all.inTransaction(session -> each(session, from, one -> {
            session.refresh(one);
            session.detach(one);
        })));
        step(name + ": rolled back", () -> {
            try (Session session = all.openSession()) {
                session.beginTransaction();
                session.persist(made(session, entity.getJavaType()));
                session.flush();
                session.getTransaction().rollback();
            }
        });
        step(name + ": unique result twice", () -> all.inTransaction(session -> {
            session.createSelectionQuery("select max(e.id) " + from, Object.class).getSingleResult();
            session.createSelectionQuery("select max(e.id) " + from, Object.class).getSingleResult();
        }));
        step(name + ": merge", () -> {
            List<Object> detached = all.fromTransaction(session -> session.createSelectionQuery(from, Object.class).getResultList());
            all.inTransaction(session -> detached.forEach(session::merge));
        });
        step(name + ": remove", () -> all.inTransaction(session -> each(session, from, session::remove)));
        step(name + ": delete", () -> all.inTransaction(
                session -> session.createMutationQuery("delete " + from).executeUpdate()));
    }

    private static void each(Session session, String from, java.util.function.Consumer<Object> what) {
        session.createSelectionQuery(from, Object.class).getResultList().forEach(what);
    }

    /** An entity without anything but a number as its key, if it does not get one by itself. */
    private static Object made(Session session, Class<?> type) {
        try {
            var constructor = type.getDeclaredConstructor();
            constructor.setAccessible(true);
            Object one = constructor.newInstance();
            SharedSessionContractImplementor inside = session.unwrap(SharedSessionContractImplementor.class);
            EntityPersister persister = inside.getEntityPersister(null, one);
            if (persister.getGenerator() instanceof Assigned) {
                Class<?> key = persister.getIdentifierType().getReturnedClass();
                keys++;
                if (key == Integer.class) {
                    persister.setIdentifier(one, keys, inside);
                } else if (key == Long.class) {
                    persister.setIdentifier(one, (long) keys, inside);
                }
            }
            return one;
        } catch (ReflectiveOperationException none) {
            throw new IllegalStateException(none);
        }
    }

    private static void step(String name, Step step) throws IOException {
        if (!name.contains(only)) {
            return;
        }
        String outcome = "passed";
        String message = "";
        try {
            step.run();
        } catch (Exception | LinkageError failed) {
            outcome = "failed";
            StringWriter all = new StringWriter();
            Throwable cause = failed;
            while (cause.getCause() != null) {
                cause = cause.getCause();
            }
            cause.printStackTrace(new PrintWriter(all));
            message = all.toString();
        }
        String line = "{\"test\": " + quoted(name) + ", \"outcome\": \"" + outcome + "\", \"message\": "
                + quoted(message.substring(0, Math.min(MESSAGE_CHARS, message.length()))) + "}\n";
        Files.writeString(file, line, StandardCharsets.UTF_8, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }

    private static String quoted(String text) {
        StringBuilder json = new StringBuilder("\"");
        text.chars().forEach(c -> json.append(c == '"' || c == '\\' || c < ' ' || c > '~'
                ? String.format("\\u%04x", c)
                : String.valueOf((char) c)));
        return json.append('"').toString();
    }
}
