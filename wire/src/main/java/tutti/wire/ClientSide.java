package tutti.wire;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.nio.charset.StandardCharsets;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.jspecify.annotations.Nullable;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.FrameSink;
import tutti.pgwire.Frontend;
import tutti.pgwire.ProtocolViolation;

/** Reads what a client sends to its session after start-up, and gives each message to whom it concerns. */
final class ClientSide implements FrameSink {
    private static final Logger LOG = LoggerFactory.getLogger(ClientSide.class);

    private final Session session;
    private final ClientCycle cycle;
    private final BackendRequests backend;
    private final ClientStream client;
    private final DeferredMessages deferred;
    private final SimpleQueries queries;
    private final ExtendedMessages extended;
    private final TextSettings texts;
    private final RolePasswords passwords;
    private final DoBlocks blocks;

    ClientSide(Session session, TextSettings texts, Classifier classifier) {
        this.session = session;
        this.cycle = session.cycle();
        this.backend = session.backend();
        this.client = session.client();
        this.texts = texts;
        this.passwords = new RolePasswords(texts);
        this.blocks = new DoBlocks(texts, passwords);
        ClientSql sql = new ClientSql(classifier, texts, session.notedReads()::ask, session::hidden);
        StatementRules rules = new StatementRules(session, texts);
        ActiveRequests active = new ActiveRequests(session, texts, rules);
        this.deferred = new DeferredMessages(session, rules, active, this::take);
        InBandCapture inBand = new InBandCapture(session, texts, active, session.parameters());
        this.extended = new ExtendedMessages(session, sql, texts, rules, deferred, active, inBand);
        this.queries = new SimpleQueries(session, sql, rules, deferred, active, inBand, extended::forgetting);
        session.questions().speaksTo(deferred::again);
        session.repetition().speaksTo(this, new LostRows(session.capture(), texts, extended::bound));
    }

    @Override
    public int wanted(byte type, int bodyLength) {
        if (cycle.takesDataOnly() && breaksCopy(type)) {
            // the engine fails the COPY at the sight of it, and ends the session
            cycle.breaksCopy();
            backend.write(client.buffer().writeByte(type).writeInt(Integer.BYTES));
            session.pauseClient();
        } else if (!Frontend.isType(type) || type == Frontend.PASSWORD) {
            throw new ProtocolViolation("invalid frontend message type " + (type & 0xff));
        } else if (session.repetition().running() || (!passesBlocked(type) && session.mustWait())) {
            session.pauseClient();
        } else if (session.readLevel().waits(type)) {
            session.pauseClient();
        } else if (cycle.isEnding() && type != Frontend.SYNC) {
            cycle.await();
            backend.flushAnswers();
            session.pauseClient();
        } else if (mustKnow(type)) {
            awaitAnswers();
            session.pauseClient();
        }
        return session.messages().wanted(bodyLength);
    }

    /**
     * Whether it must be known before a message is looked at whether those before it have failed, for then it is skipped up to Sync: a simple query in
     * the middle of a cycle, for which the node may send messages of its own, a Sync among them, that the engine would not skip.
     */
    boolean mustKnow(byte type) {
        return (type == Frontend.QUERY || type == Frontend.FUNCTION_CALL) && cycle.open() && !backend.idle();
    }

    /** The next message waits until all is answered. */
    void awaitAnswers() {
        cycle.awaitAnswers();
        backend.flushAnswers();
    }

    /** Whether a message has to do with data that a client copies into a table. */
    static boolean copies(byte type) {
        return type == Frontend.COPY_DATA || type == Frontend.COPY_DONE || type == Frontend.COPY_FAIL;
    }

    /** Whether a message must not come while the engine takes data. */
    static boolean breaksCopy(byte type) {
        return !copies(type) && !copyIgnores(type) && type != Frontend.TERMINATE;
    }

    /** Whether a message may be taken though those that do not copy have to wait. Data waits for a COPY that is still to be sent. */
    boolean passesBlocked(byte type) {
        MultiStatementQuery script = cycle.script();
        return (copies(type) || (cycle.takesDataOnly() && copyIgnores(type))) && !cycle.syncWaits()
                && (cycle.copies() || script == null || !script.willCopy());
    }

    /** Whether an engine that takes data ignores a message. */
    static boolean copyIgnores(byte type) {
        return type == Frontend.SYNC || type == Frontend.FLUSH;
    }

    /** Whether no further message belongs to the cycle of this one. */
    static boolean endsCycle(byte type) {
        return type == Frontend.SYNC || type == Frontend.QUERY || type == Frontend.FUNCTION_CALL;
    }

    @Override
    public boolean frame(byte type, ByteBuf buffer, int start, int bodyLength) {
        if (type == Frontend.TERMINATE) {
            client.close();
            return false;
        }
        ErrorFields refusal = session.messages().shown();
        if (refusal == null) {
            refusal = session.readLevel().taken(type, buffer, start, bodyLength, extended::bound);
        }
        if (refusal != null) {
            return refuse(type, refusal);
        }
        session.loads().heard();
        session.repetition().said(type, buffer, start, bodyLength);
        session.times().said(type, buffer, start, bodyLength);
        return !session.repetition().waits(type) && take(type, buffer, start, bodyLength);
    }

    /** A message that is not taken is refused like a statement, which a smaller one of its kind stands for; others end the session. */
    private boolean refuse(byte type, ErrorFields why) {
        if (!MessageIntake.isStatement(type)) {
            client.end(why.with('S', "FATAL").with('V', "FATAL"));
            return false;
        }
        ByteBuf empty = Unpooled.wrappedBuffer(new byte[Messages.HEADER + MessageIntake.EMPTY_BODY]);
        empty.setByte(0, type).setInt(1, Integer.BYTES + MessageIntake.EMPTY_BODY);
        session.repetition().said(type, empty, Messages.HEADER, MessageIntake.EMPTY_BODY);
        if (cycle.skipping()) {
            return false;
        }
        if (cycle.none() && backend.outsideOfTransaction()) {
            extended.portalsAreClosed();
        }
        session.cycleMayBegin();
        return endsCycle(type) ? queries.refuseWhole(why) : extended.refuseParse(why);
    }

    /** A message that the client has sent now, or before. */
    boolean take(byte type, ByteBuf buffer, int start, int bodyLength) {
        if (copies(type)) {
            if (cycle.copies()) {
                cycle.copies(type != Frontend.COPY_DATA);
            }
            return cycle.copies();
        }
        if (cycle.skipping()) {
            return type == Frontend.SYNC && extended.syncAfterSkipping();
        }
        if (cycle.none() && backend.outsideOfTransaction()) {
            extended.portalsAreClosed();
        }
        if (cycle.none()) {
            texts.known();
        }
        if (type == Frontend.QUERY) {
            extended.forgetUnnamed();
        }
        session.cycleMayBegin();
        ErrorFields unclear = texts.certainlyUtf8() || deferred.recording()
                ? null
                : unclear(type, buffer, start, bodyLength);
        if (unclear != null) {
            return endsCycle(type) ? queries.refuseWhole(unclear) : extended.refuseParse(unclear);
        }
        ByteBuf changed;
        try {
            changed = changed(type, buffer, start, bodyLength);
        } catch (RolePasswords.RefusedException refused) {
            return type == Frontend.QUERY
                    ? queries.refuseWhole(refused.fields())
                    : extended.refuseParse(refused.fields());
        }
        ErrorFields refusal = session.modes().locksInCluster() ? lockRefusal(type, buffer, start, bodyLength) : null;
        if (refusal != null) {
            if (changed != null) {
                changed.release();
            }
            return type == Frontend.QUERY ? queries.refuseWhole(refusal) : extended.refuseParse(refusal);
        }
        if (changed == null) {
            return message(type, buffer, start, bodyLength);
        }
        if (message(type, changed, Messages.HEADER, changed.readableBytes() - Messages.HEADER)) {
            backend.write(changed);
        } else {
            changed.release();
        }
        return false;
    }

    /** Why a message is not taken whose text, or names, the engine may read otherwise than the node; or null. */
    private @Nullable ErrorFields unclear(byte type, ByteBuf buffer, int start, int bodyLength) {
        int limit = start + bodyLength;
        int name = type == Frontend.DESCRIBE || type == Frontend.CLOSE ? start + 1 : start;
        int nameEnd = type == Frontend.QUERY || type == Frontend.SYNC || type == Frontend.FLUSH
                || type == Frontend.FUNCTION_CALL
                        ? name
                        : Messages.end(buffer, name, limit);
        if (type == Frontend.BIND) {
            nameEnd = Messages.end(buffer, nameEnd + 1, limit);
        }
        for (int i = name; i < nameEnd; i++) {
            if (buffer.getByte(i) < 0) {
                return TextSettings.nameRefusal();
            }
        }
        return switch (type) {
            case Frontend.QUERY -> texts.refusal(Messages.queryText(buffer, start, bodyLength));
            case Frontend.PARSE -> texts.refusal(
                    Messages.queryText(buffer, nameEnd + 1, Messages.end(buffer, nameEnd + 1, limit) - nameEnd));
            default -> null;
        };
    }

    private static @Nullable ErrorFields lockRefusal(byte type, ByteBuf buffer, int start, int bodyLength) {
        return type == Frontend.QUERY || type == Frontend.PARSE
                ? CommitLocks.refusal(buffer.toString(start, bodyLength, StandardCharsets.UTF_8))
                : null;
    }

    private @Nullable ByteBuf changed(byte type, ByteBuf buffer, int start, int bodyLength)
            throws RolePasswords.RefusedException {
        ByteBuf hashed = passwords.hashed(type, buffer, start, bodyLength);
        if (hashed == null) {
            return blocks.rewritten(type, buffer, start, bodyLength);
        }
        try {
            ByteBuf both = blocks.rewritten(type, hashed, Messages.HEADER, hashed.readableBytes() - Messages.HEADER);
            return both == null ? hashed.retain() : both;
        } finally {
            hashed.release();
        }
    }

    private boolean message(byte type, ByteBuf buffer, int start, int bodyLength) {
        if (deferred.recording()) {
            if (type == Frontend.EXECUTE) {
                texts.mayChange();
            }
            Prepared about = switch (type) {
                case Frontend.PARSE -> extended.parseLater(buffer, start, bodyLength);
                case Frontend.BIND -> extended.bound(buffer, start, bodyLength);
                default -> null;
            };
            return deferred.record(type, about, buffer, start, bodyLength);
        }
        return switch (type) {
            case Frontend.QUERY -> queries.query(buffer, start, bodyLength);
            case Frontend.PARSE -> extended.parse(buffer, start, bodyLength);
            case Frontend.BIND -> extended.bind(buffer, start, bodyLength);
            case Frontend.EXECUTE -> extended.execute(buffer, start, bodyLength);
            case Frontend.DESCRIBE -> extended.describe(buffer, start, bodyLength);
            case Frontend.CLOSE -> extended.close(buffer, start, bodyLength);
            case Frontend.FLUSH -> {
                if (!cycle.busy()) {
                    client.flushAsked();
                }
                yield true;
            }
            case Frontend.SYNC -> extended.sync();
            default -> queries.call(buffer, start, bodyLength);
        };
    }

    @Override
    public void run(ByteBuf bytes) {
        backend.run(bytes);
    }

    @Override
    public void readComplete() {
        session.settle();
    }

    @Override
    public void writabilityChanged(boolean writable) {
        session.settle();
    }

    @Override
    public void violated(ProtocolViolation violation) {
        client.end(Errors.fatal(ProtocolViolation.SQL_STATE, String.valueOf(violation.getMessage())));
    }

    @Override
    public void failed(Throwable cause) {
        if (cause instanceof java.io.IOException) {
            LOG.debug("a client's connection failed", cause);
        } else if (client.active()) {
            LOG.error("a session fails and is closed", cause);
        }
        client.close();
    }

    @Override
    public void inactive() {
        session.clientClosed();
    }
}
