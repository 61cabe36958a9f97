package tutti.engine.postgres.databases;

import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import tutti.engine.postgres.PostgresEngine;

/**
 * What an applier, or an executor, has opened in databases: one in the configured database, and those that were used last in others, so
 * that their connections do not become many. Only one is at work at a time. Of the one thread that uses its owner.
 */
final class OfDatabases<T> {
    /** Most that are kept in other databases. */
    static final int OTHERS_MAX = 2;

    private final ServerEngine server;
    private final Function<PostgresEngine, T> open;
    private final Listener<T> listener;
    private final Map<Long, Opened<T>> others = new LinkedHashMap<>(4, 0.75f, true);
    private final Supplier<T> configured;
    private @Nullable T ofConfigured;

    /** Opened in this engine: a database that was made anew has another one. */
    private record Opened<T>(PostgresEngine in, T what) {}

    /** Hears what is opened and closed. */
    interface Listener<T> {
        void opened(T what);

        /** Closes it, too. */
        void closes(T what);
    }

    OfDatabases(ServerEngine server, PostgresEngine configured, Function<PostgresEngine, T> open,
            Listener<T> listener) {
        this.server = server;
        this.open = open;
        this.listener = listener;
        this.configured = () -> opened(configured);
    }

    private T opened(PostgresEngine in) {
        T what = open.apply(in);
        listener.opened(what);
        return what;
    }

    /** That of the configured database. */
    T configured() {
        T present = ofConfigured;
        if (present == null) {
            present = configured.get();
            ofConfigured = present;
        }
        return present;
    }

    /** That of a database; null if it has been dropped. */
    @SuppressWarnings("ReferenceEquality") // this very engine
    @Nullable
    T in(long database) {
        if (database == DatabaseTag.CONFIGURED) {
            return configured();
        }
        PostgresEngine engine = server.of(database);
        Opened<T> present = others.get(database);
        if (present != null && present.in() != engine) {
            others.remove(database);
            listener.closes(present.what());
            present = null;
        }
        if (engine == null) {
            return null;
        }
        if (present == null) {
            present = new Opened<>(engine, opened(engine));
            others.put(database, present);
            shrink();
        }
        return present.what();
    }

    private void shrink() {
        Iterator<Opened<T>> eldest = others.values().iterator();
        if (others.size() > OTHERS_MAX) {
            T what = eldest.next().what();
            eldest.remove();
            listener.closes(what);
        }
    }

    void close() {
        others.values().forEach(each -> listener.closes(each.what()));
        others.clear();
        T present = ofConfigured;
        if (present != null) {
            listener.closes(present);
        }
    }
}
