package tutti.engine.postgres.server;

import java.io.IOException;

/** Why a PostgreSQL server could not be set up, started or stopped, for the person who has to do something about it. */
public final class ServerException extends IOException {
    private static final long serialVersionUID = 1;

    /** What went wrong, as far as a program wants to distinguish it. */
    public enum Kind {
        /** Another process listens on the port. */
        PORT_TAKEN,
        /** The file system is full. */
        DISK_FULL,
        /** The data directory is damaged, of another version, or not one of PostgreSQL. */
        DATA_DAMAGED,
        /** Another process uses the data directory. */
        DATA_IN_USE,
        /** There are no server binaries for this machine, or it does not let us run them. */
        CANNOT_RUN,
        /** It did not become ready, or did not stop, in time. */
        TIMEOUT,
        /** Anything else; the message has the server's own words. */
        OTHER
    }

    private final Kind kind;

    ServerException(Kind kind, String message) {
        super(message);
        this.kind = kind;
    }

    ServerException(Kind kind, String message, Throwable cause) {
        super(message, cause);
        this.kind = kind;
    }

    /** What went wrong. */
    public Kind kind() {
        return kind;
    }

    /** Reads a server's last words. */
    static ServerException explain(String what, String lastWords) {
        String words = lastWords.strip();
        if (words.contains("Address already in use")) {
            return new ServerException(Kind.PORT_TAKEN,
                    what + ": another process listens on its port; choose another port or stop that process. " + words);
        }
        if (words.contains("No space left on device") || words.contains("Disk quota exceeded")) {
            return new ServerException(Kind.DISK_FULL,
                    what + ": the disk is full; free some space and start again. " + words);
        }
        if (words.contains("pre-existing shared memory block") || words.contains("lock file \"postmaster.pid\"")) {
            return new ServerException(Kind.DATA_IN_USE,
                    what + ": another server uses the data directory; stop it first. " + words);
        }
        if (words.contains("Permission denied") || words.contains("Operation not permitted")) {
            return new ServerException(Kind.OTHER, what + ": a file of its data directory belongs to another user; give"
                    + " the whole directory to the one that runs the node (chown -R), and start again. " + words);
        }
        if (words.contains("Too many open files")) {
            return new ServerException(Kind.OTHER,
                    what + ": too many files are open; raise the limit (ulimit -n, LimitNOFILE=). " + words);
        }
        if (words.contains("PANIC:") || words.contains("invalid checkpoint") || words.contains("could not locate")
                || words.contains("is not a valid data directory")
                || words.contains("incorrect checksum in control file")
                || words.contains("database files are incompatible") || words.contains("invalid page in block")
                || words.contains("pg_control") || words.contains("could not open directory")
                || words.contains("could not read file") || words.contains("could not open file")
                || words.contains("data directory was initialized by")) {
            return new ServerException(Kind.DATA_DAMAGED, what
                    + ": the data directory is damaged or of another version; remove it and copy the state from another node. "
                    + words);
        }
        return new ServerException(Kind.OTHER,
                what + ": " + (words.isEmpty() ? "the server said nothing; it may have been killed" : words));
    }
}
