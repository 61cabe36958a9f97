package tutti.wire;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.core.spi.Completion;
import tutti.core.spi.LocalTransaction;
import tutti.core.txn.ConflictClasses;
import tutti.core.txn.Outcome;
import tutti.core.txn.ReadSet;
import tutti.core.txn.TransactionId;
import tutti.pgwire.Backend;
import tutti.pgwire.BackendConnection;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.FrameReader;
import tutti.pgwire.QueryCollector;
import tutti.pgwire.QueryResult;

/**
 * What a session is made of: the two channels, the messages under way on them, and where the client's current cycle
 * stands. On the event loop that both channels share.
 */
abstract class SessionChannels {

    /** Where the client's current cycle stands. */
    enum Cycle {
        /** None is under way. */
        NONE,
        /** Extended-protocol messages have come, Sync has not. */
        OPEN,
        /** Complete; its ReadyForQuery is awaited. */
        BUSY
    }

    /** Which form of commit is under way. */
    enum Commit {
        /** The end of a cycle outside of a transaction block. */
        IMPLICIT,
        /** COMMIT as a simple query. */
        SIMPLE,
        /** COMMIT by Execute. */
        EXTENDED
    }

    /** What goes on when our own messages have been answered. */
    interface Step {
        void ready();
    }

    final SessionServices services;
    final Capture capture;
    final OwnMessages own;
    final Operations operations = new Operations();
    final Held held;
    final Channel client;
    final Channel engine;
    final FrameReader clientReader;
    final BackendConnection connection;
    final EventLoop loop;
    final Modes modes;

    SessionState state = SessionState.IDLE;
    Cycle cycle = Cycle.NONE;
    /** The transaction was begun by us, for one cycle. */
    boolean implicit;
    /** Client messages are skipped up to Sync, as the engine does after an error. */
    boolean discard;
    /** At that Sync the transaction is made to fail, because the engine has rolled it back already. */
    boolean failAtSync;
    /** Client messages wait although the cycle is open. */
    boolean waiting;
    /** What is still to come from the engine for this cycle is not for the client. */
    boolean suppress;
    /** An error of this cycle has been passed on to the client. */
    boolean cycleFailed;
    /** Statements executed in this cycle. */
    int executed;
    boolean copyIn;
    boolean copyExpected;
    /** A COMMIT or ROLLBACK by Execute is under way in the engine; what follows it waits. */
    boolean settling;
    /** Warnings about the transaction status are ours to hide. */
    boolean hideWarnings;
    /** The closing messages have been sent with the cycle's own. */
    boolean closingSent;
    boolean prepared;
    boolean preparing;
    /** Last transaction status of the engine. */
    byte status = Backend.IDLE;
    /** An error of our own messages. */
    @Nullable
    ErrorFields ownError;
    List<@Nullable String> ownRow = List.of();
    /** What the closing message returned. */
    byte @Nullable [] gathered;
    /** The transaction has sent a statement that may write. */
    boolean wrote;
    /** The transaction has changed the schema. */
    boolean schemaChanged;
    /** The transaction has sent a statement that may change rows. */
    boolean wroteRows;
    /** The catalog before each schema change of the transaction; null where no row had been changed. */
    final List<@Nullable QueryResult> catalogs = new ArrayList<>();
    /** Gathers the result of our query that is under way. */
    @Nullable
    QueryCollector collector;
    boolean commitSeen;
    /** The transaction was rolled back and its client, who has not heard, will at its next message. */
    @Nullable
    ErrorFields pendingAbort;
    /** What the client is told in place of the error that we provoke. */
    @Nullable
    ErrorFields refusal;
    @Nullable
    Script script;

    /** What the transaction has read so far; null if nothing, or nobody wants to know. */
    ReadSet.@Nullable Builder read;
    /** A position that was visible before anything of the current cycle was sent. */
    private long since;
    /** The node keeps it for a transaction that may begin. */
    private boolean holding;
    /** The open transaction has been handed in to wait for its turn. */
    boolean handedIn;
    /** It was begun to read only, so it needs no turn. */
    boolean readOnly;
    /** The classes that its client has declared, or null. */
    @Nullable
    ConflictClasses declared;
    /** It has declared some rows only of a divided table, so each statement is held against that. */
    boolean declaredPartly;
    /** Somebody says that it keeps to its classes, which is to be checked. */
    boolean vouched;
    /** It is known of the current cycle that it is not for every node. */
    boolean placed;
    /** The classes that it has been handed in with. */
    ConflictClasses classes = ConflictClasses.ALL;
    /** Executes a whole request, and executes it again; null if the transaction is none, or cannot be repeated any more. */
    @Nullable
    Runnable repeat;
    /** It is to be repeated as soon as it is rolled back. */
    boolean repeatPending;
    /** Why what has run of a whole request must be repeated, or be given up. */
    @Nullable
    ErrorFields retry;
    /** What goes on when its turn has come; null unless it waits for that. */
    @Nullable
    Runnable turn;

    /** Ends the engine's looking after the transaction. */
    @Nullable
    Runnable watch;

    /** Read by the engine's threads too. */
    volatile @Nullable Branch branch;
    /** One for each Sync or query of ours that is under way. */
    final ArrayDeque<Step> steps = new ArrayDeque<>();
    Commit commit = Commit.IMPLICIT;
    /** The client has asked for the commit that is under way. */
    boolean commitAsked;
    boolean chain;
    @Nullable
    String chainBegin;
    boolean rollbackWanted;
    boolean rolledBack;
    final List<Runnable> rollbackDone = new ArrayList<>();
    @Nullable
    Completion<Void> commitDone;
    @Nullable
    Outcome outcome;
    int cancels;
    @Nullable
    Runnable afterCancels;
    boolean clientGone;
    /** The client wants to know how its transactions are called, and which position it has seen. */
    boolean reports;
    /** The next transaction's name, which the client has been told. */
    @Nullable
    TransactionId name;
    private long reportedPosition = -1;

    SessionChannels(SessionServices services, Channel client, FrameReader clientReader, BackendConnection connection) {
        this.services = services;
        this.client = client;
        this.clientReader = clientReader;
        this.connection = connection;
        this.engine = connection.channel();
        this.loop = client.eventLoop();
        this.capture = services.capture();
        this.own = services.own();
        this.modes = new Modes(services.transactions().wholeOnly());
        this.held = new Held(client, services.heldLimit());
    }

    /** The open transaction. Any thread. */
    @Nullable
    LocalTransaction transaction() {
        return branch;
    }

    Channel client() {
        return client;
    }

    Channel engine() {
        return engine;
    }

    BackendConnection connection() {
        return connection;
    }

    FrameReader clientReader() {
        return clientReader;
    }

    /** Sends to the engine, after what the client sent before. */
    void toEngine(ByteBuf bytes) {
        clientReader.emitRun();
        engine.write(bytes, engine.voidPromise());
    }

    /** Sends to the client, after what the engine sent before. */
    void toClient(ByteBuf bytes) {
        connection.reader().emitRun();
        held.write(bytes);
    }

    ByteBuf buffer() {
        return engine.alloc().buffer();
    }

    void error(ErrorFields fields) {
        cycleFailed = true;
        ByteBuf out = buffer();
        Backend.errorResponse(out, fields);
        toClient(out);
    }

    /**
     * Tells the client the name of its next transaction, and what is visible here. The name of one that has ended is never
     * taken for the next one's, because the new one is told before the end is; so whatever the client sends when it has heard of
     * an end is known under the name that it has.
     */
    void report() {
        if (!reports || clientGone || state == SessionState.CLOSED) {
            return;
        }
        ByteBuf out = client.alloc().buffer();
        if (name == null && branch == null) {
            name = services.transactions().reserve();
            if (name != null) {
                Backend.parameterStatus(out, "tutti.transaction", name.toString());
            }
        }
        long position = services.transactions().visiblePosition();
        if (position != reportedPosition) {
            reportedPosition = position;
            Backend.parameterStatus(out, "tutti.position", Long.toString(position));
        }
        connection.reader().emitRun();
        client.write(out, client.voidPromise());
    }

    /** From now on a transaction may begin: the node remembers from here on what it may have to be compared with. */
    void hold() {
        letGo();
        if (branch == null && state != SessionState.CLOSED) {
            since = services.transactions().hold();
            holding = true;
        } else {
            since = services.transactions().visiblePosition();
        }
    }

    /** A transaction has begun, or none will. */
    void letGo() {
        if (holding) {
            holding = false;
            services.transactions().unhold(since);
        }
    }

    /** The transaction begins that the session was {@linkplain #hold ready} for, or one after it in the same cycle. */
    void begin(Branch opened) {
        opened.ticket(services.transactions().begin(opened, since, takeName()));
        letGo();
    }

    /** The name of the transaction that begins now, or null. */
    @Nullable
    TransactionId takeName() {
        TransactionId taken = name;
        name = null;
        return taken;
    }

    /** Goes on with the client's messages if it can, and flushes both sides. Called whenever something has happened. */
    void settle() {
        if (connection.reader().paused() && (client.isWritable() || suppress)) {
            connection.reader().resume();
        }
        if (clientReader.paused() && !blocked() && engine.isWritable()) {
            clientReader.resume();
        }
        engine.flush();
        client.flush();
    }

    /** Whether the client's next message has to wait. */
    boolean blocked() {
        return cycle == Cycle.BUSY || waiting || state.compareTo(SessionState.CLOSING) >= 0
                || operations.size() > Operations.LIMIT - 64;
    }
}
