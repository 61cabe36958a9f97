package tutti.wire;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFutureListener;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tutti.pgwire.Backend;
import tutti.pgwire.ErrorFields;
import tutti.pgwire.FrameReader;

/**
 * What goes to a session's client, and what of the engine's answers concerns it. Responses are withheld while it must not
 * know them: from the first CommandComplete of a statement that commits by itself until the transaction's outcome is known, and
 * all of a request that may have to be run again. That is bounded: beyond the limit, and if the client asks for them by Flush, they are let
 * through, as PostgreSQL itself
 * does with the extended protocol, where an error of the commit may come after CommandComplete and before ReadyForQuery.
 * On the session's event loop.
 */
final class ClientStream {
    /** What becomes of what is written. */
    private enum Responses {
        /** It goes to the client. */
        PASS,
        /** It is withheld. */
        WITHHELD
    }

    /** Looks at what goes to the client. */
    interface Ear {
        /** What of it the client is to hear; the ownership passes both ways. */
        ByteBuf heard(ByteBuf bytes);
    }

    private final Channel client;
    private final FrameReader backendReader;
    private final int limit;
    private final ArrayDeque<ByteBuf> withheld = new ArrayDeque<>();
    private int withheldBytes;
    private Responses responses = Responses.PASS;
    private boolean overflowed;
    private boolean flushed;
    private boolean suppressed;
    private boolean hidesWarnings;
    private boolean gone;
    private Ear ear = bytes -> bytes;
    /** Parameters as the client has been told, unless it is to be told again. */
    private final Map<String, String> told;
    /** Parameters that the engine has reported since. */
    private final Map<String, String> reported = new LinkedHashMap<>();

    /**
     * A stream on which nothing is withheld.
     *
     * @param parameters that the client has been told
     * @param backendReader what reads the engine's messages, which go to the client before what is written here
     * @param limit most bytes that are withheld
     */
    ClientStream(Channel client, Map<String, String> parameters, FrameReader backendReader, int limit) {
        this.client = client;
        this.told = new HashMap<>(parameters);
        this.backendReader = backendReader;
        this.limit = limit;
    }

    /** Who looks at the responses that go to the client. */
    void overheardBy(Ear by) {
        ear = by;
    }

    // ------------------------------------------------------------------------------------------ what concerns the client

    /** Whether the client gets to see the answer to this message. */
    boolean sees(SentMessage answered) {
        return !answered.own() && answered != SentMessage.PARSE_AGAIN && answered != SentMessage.DESCRIBE_AGAIN
                && !suppressed;
    }

    /** What is still to come from the engine for this cycle is not for the client, because its transaction is interrupted. */
    void suppress() {
        suppressed = true;
    }

    /** What comes from the engine is for the client again. */
    void show() {
        suppressed = false;
    }

    boolean suppressed() {
        return suppressed;
    }

    /**
     * Whether warnings about the transaction status are withheld from the client, because they are about what the node has
     * done; until the end of the cycle unless said otherwise.
     */
    void hideWarnings(boolean hide) {
        hidesWarnings = hide;
    }

    /**
     * Whether the client gets to see a notice.
     *
     * @param answered to what it belongs
     */
    boolean seesNotice(ByteBuf body, @Nullable SentMessage answered) {
        if (hidesWarnings || answered == SentMessage.BEGINNING_EXECUTE || answered == SentMessage.BEGINNING_QUERY) {
            String sqlState = ErrorFields.read(body).sqlState();
            if (sqlState.equals("25P01") || sqlState.equals("25001")) {
                return false;
            }
        }
        return !suppressed;
    }

    // ------------------------------------------------------------------------------------------ withholding

    /** From now on responses are withheld, after those that have come. */
    void withhold() {
        if (!flushed) {
            backendReader.emitRun();
            responses = Responses.WITHHELD;
        }
    }

    /** The client has asked for what there is, and waits for it: nothing of this cycle is withheld any more. */
    void flushAsked() {
        flushed = true;
        release();
    }

    /** Likewise, unless that was too much before in this cycle. */
    void withholdIfPossible() {
        if (responses == Responses.PASS && !overflowed) {
            withhold();
        }
    }

    /** The client's cycle is over: what comes from the engine is for it again. */
    void cycleOver() {
        hidesWarnings = false;
        suppressed = false;
        overflowed = false;
        flushed = false;
    }

    /** From now on responses are withheld, and {@link #overflowed} says if that was too much. */
    void withholdAll() {
        responses = Responses.WITHHELD;
        overflowed = false;
    }

    /** Whether something withheld has been let through because it was too much, since {@link #withholdAll}. */
    boolean overflowed() {
        return overflowed;
    }

    /** Lets everything through. */
    void release() {
        responses = Responses.PASS;
        withheldBytes = 0;
        for (ByteBuf message = withheld.poll(); message != null; message = withheld.poll()) {
            pass(message);
        }
    }

    /** Forgets what was withheld. */
    void drop() {
        responses = Responses.PASS;
        withheldBytes = 0;
        for (ByteBuf message = withheld.poll(); message != null; message = withheld.poll()) {
            message.release();
        }
    }

    // ------------------------------------------------------------------------------------------ writing

    /** What the engine has sent, as it came. */
    void run(ByteBuf bytes) {
        if (responses == Responses.PASS) {
            pass(bytes);
            return;
        }
        withheld.add(bytes);
        withheldBytes += bytes.readableBytes();
        if (withheldBytes > limit) {
            overflowed = true;
            release();
        }
    }

    private void pass(ByteBuf bytes) {
        ByteBuf rest = ear.heard(bytes);
        if (rest.isReadable()) {
            client.write(rest, client.voidPromise());
        } else {
            rest.release();
        }
    }

    /** What the engine has sent so far is passed on, and need not wait for what is still being read. */
    void arrived() {
        backendReader.emitRun();
    }

    /** Writes a response of the node's, after what the engine sent before. */
    void write(ByteBuf response) {
        backendReader.emitRun();
        run(response);
    }

    /** Tells the client something beside its responses, if there is anything. */
    void notice(@Nullable ErrorFields fields) {
        if (fields != null) {
            ByteBuf notice = buffer();
            Backend.noticeResponse(notice, fields);
            write(notice);
        }
    }

    /** Writes what is no response, after what the engine sent before; it is never withheld. */
    void writeAside(ByteBuf message) {
        backendReader.emitRun();
        client.write(message, client.voidPromise());
    }

    void error(ErrorFields fields) {
        ByteBuf out = buffer();
        Backend.errorResponse(out, fields);
        write(out);
    }

    void complete(String tag) {
        ByteBuf out = buffer();
        Backend.commandComplete(out, tag);
        write(out);
    }

    /**
     * The engine has reported a parameter. The client is told before it hears that it may go on: what is something else again by then
     * has changed for the node only.
     */
    void parameter(String name, String value) {
        reported.put(name, value);
    }

    /** The client hears now that it may go on. */
    void tellParameters() {
        if (reported.isEmpty()) {
            return;
        }
        ByteBuf out = buffer();
        reported.forEach((name, value) -> {
            if (!value.equals(told.put(name, value))) {
                Backend.parameterStatus(out, name, value);
            }
        });
        reported.clear();
        write(out);
    }

    /** What the client has been told since some time is said again: nothing is known by then that need not be. */
    void tellsParametersAgain() {
        told.clear();
    }

    void ready(byte status) {
        tellParameters();
        ByteBuf out = buffer();
        Backend.readyForQuery(out, status);
        write(out);
    }

    ByteBuf buffer(int bytes) {
        return client.alloc().buffer(bytes);
    }

    ByteBuf buffer() {
        return client.alloc().buffer();
    }

    void flush() {
        client.flush();
    }

    boolean writable() {
        return client.isWritable();
    }

    // ------------------------------------------------------------------------------------------ the end

    /** The client has gone. */
    void clientGone() {
        gone = true;
        drop();
    }

    boolean gone() {
        return gone;
    }

    /** Ends the stream with an error; nothing withheld is told. */
    void end(ErrorFields fatal) {
        ByteBuf out = buffer();
        Backend.errorResponse(out, fatal);
        end(out);
    }

    /** Ends the stream with the error that the engine has said last, which may have been withheld; nothing else withheld is told. */
    void endAfter(ErrorFields said) {
        if (responses == Responses.WITHHELD) {
            end(said);
        } else {
            end(buffer());
        }
    }

    private void end(ByteBuf last) {
        drop();
        if (client.isActive()) {
            client.writeAndFlush(last).addListener(ChannelFutureListener.CLOSE);
        } else {
            last.release();
        }
    }

    /** Ends the stream at once. */
    void close() {
        client.close();
    }

    boolean active() {
        return client.isActive();
    }
}
