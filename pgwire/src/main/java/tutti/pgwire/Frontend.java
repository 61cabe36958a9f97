package tutti.pgwire;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The messages that a client sends: their type bytes, and a writer for each. Every writer appends exactly one message to
 * the buffer. Text is UTF-8 and must not contain a zero byte.
 */
public final class Frontend {
    /** Simple query. */
    public static final byte QUERY = 'Q';
    /** Prepares a statement. */
    public static final byte PARSE = 'P';
    /** Binds parameters to a statement, making a portal. */
    public static final byte BIND = 'B';
    /** Runs a portal. */
    public static final byte EXECUTE = 'E';
    /** Ends an extended query sequence. */
    public static final byte SYNC = 'S';
    /** Asks for the responses so far. */
    public static final byte FLUSH = 'H';
    /** Closes a statement or portal. */
    public static final byte CLOSE = 'C';
    /** Describes a statement or portal. */
    public static final byte DESCRIBE = 'D';
    /** Ends the session. */
    public static final byte TERMINATE = 'X';
    /** Data of a COPY. */
    public static final byte COPY_DATA = 'd';
    /** End of a COPY. */
    public static final byte COPY_DONE = 'c';
    /** Failure of a COPY on the client's side. */
    public static final byte COPY_FAIL = 'f';
    /** Password, SASL or GSS response. */
    public static final byte PASSWORD = 'p';
    /** Calls a function by its object id. */
    public static final byte FUNCTION_CALL = 'F';

    /** Protocol version 3.0 as start-up packets write it. */
    public static final int PROTOCOL_3_0 = 3 << 16;
    /** Protocol version 3.2, in which keys for cancel requests may be longer. */
    public static final int PROTOCOL_3_2 = 3 << 16 | 2;
    /** Request code of a CancelRequest. */
    public static final int CANCEL_CODE = 1234 << 16 | 5678;
    /** Request code of an SSLRequest. */
    public static final int SSL_CODE = 1234 << 16 | 5679;
    /** Request code of a GSSENCRequest. */
    public static final int GSS_CODE = 1234 << 16 | 5680;

    private static final byte[] SYNC_MESSAGE = {SYNC, 0, 0, 0, 4};

    private Frontend() {}

    /** Whether the byte is the type of a message that a client may send after start-up. */
    public static boolean isType(byte type) {
        return switch (type) {
            case QUERY, PARSE, BIND, EXECUTE, SYNC, FLUSH, CLOSE, DESCRIBE, TERMINATE, COPY_DATA, COPY_DONE, COPY_FAIL,
                    PASSWORD, FUNCTION_CALL ->
                true;
            default -> false;
        };
    }

    /** The start-up packet. */
    public static void startup(ByteBuf out, int protocol, Map<String, String> parameters) {
        int start = out.writerIndex();
        out.writeInt(0).writeInt(protocol);
        parameters.forEach((name, value) -> {
            cString(out, name);
            cString(out, value);
        });
        out.writeByte(0);
        out.setInt(start, out.writerIndex() - start);
    }

    /** Asks for TLS. */
    public static void sslRequest(ByteBuf out) {
        out.writeInt(8).writeInt(SSL_CODE);
    }

    /** Asks, on a connection of its own, to cancel what another one runs. */
    public static void cancelRequest(ByteBuf out, int processId, byte[] secretKey) {
        out.writeInt(12 + secretKey.length).writeInt(CANCEL_CODE).writeInt(processId).writeBytes(secretKey);
    }

    /** Simple query. */
    public static void query(ByteBuf out, CharSequence sql) {
        int start = begin(out, QUERY);
        cString(out, sql);
        end(out, start);
    }

    /** Simple query, in the session's encoding. */
    public static void query(ByteBuf out, byte[] sql) {
        int start = begin(out, QUERY);
        out.writeBytes(sql).writeByte(0);
        end(out, start);
    }

    /** Prepares a statement, in the session's encoding, whose parameters' types are for the server to infer. */
    public static void parse(ByteBuf out, CharSequence name, byte[] sql) {
        int start = begin(out, PARSE);
        cString(out, name);
        out.writeBytes(sql).writeByte(0).writeShort(0);
        end(out, start);
    }

    /** Prepares a statement; parameters whose type is not given are for the server to infer. */
    public static void parse(ByteBuf out, CharSequence name, CharSequence sql, int... parameterTypes) {
        int start = begin(out, PARSE);
        cString(out, name);
        cString(out, sql);
        out.writeShort(parameterTypes.length);
        for (int type : parameterTypes) {
            out.writeInt(type);
        }
        end(out, start);
    }

    /** Binds parameters in text form (null for SQL NULL), results in text form. */
    public static void bind(ByteBuf out, CharSequence portal, CharSequence statement,
            @Nullable CharSequence... parameters) {
        int start = beginBind(out, portal, statement, false, parameters.length);
        for (CharSequence parameter : parameters) {
            parameter(out, parameter);
        }
        endBind(out, start, false);
    }

    /**
     * Begins a Bind whose parameters are appended one by one, with {@link #parameter} or as a length and bytes.
     *
     * @param binary whether all parameters are in binary form
     * @param count of parameters that will follow, at most 65,535
     * @return to be passed to {@link #endBind}
     */
    public static int beginBind(ByteBuf out, CharSequence portal, CharSequence statement, boolean binary, int count) {
        if (count > 65_535) {
            throw new IllegalArgumentException(count + " parameters, PostgreSQL takes at most 65535");
        }
        int start = begin(out, BIND);
        cString(out, portal);
        cString(out, statement);
        if (binary) {
            out.writeShort(1).writeShort(1);
        } else {
            out.writeShort(0);
        }
        out.writeShort(count);
        return start;
    }

    /** A parameter in text form, or SQL NULL. */
    public static void parameter(ByteBuf out, @Nullable CharSequence text) {
        if (text == null) {
            out.writeInt(-1);
            return;
        }
        int length = out.writerIndex();
        out.writeInt(0);
        out.setInt(length, ByteBufUtil.writeUtf8(out, text));
    }

    /** A parameter as bytes, or SQL NULL. */
    public static void parameter(ByteBuf out, byte @Nullable [] bytes) {
        if (bytes == null) {
            out.writeInt(-1);
        } else {
            out.writeInt(bytes.length).writeBytes(bytes);
        }
    }

    /** Ends a Bind that {@link #beginBind} began. */
    public static void endBind(ByteBuf out, int start, boolean binaryResults) {
        if (binaryResults) {
            out.writeShort(1).writeShort(1);
        } else {
            out.writeShort(0);
        }
        end(out, start);
    }

    /** Appends a Bind message whose part behind the two names is given: formats, values, formats of the result. */
    public static void bindAgain(ByteBuf out, CharSequence portal, CharSequence statement, byte[] rest) {
        int start = begin(out, BIND);
        cString(out, portal);
        cString(out, statement);
        out.writeBytes(rest);
        end(out, start);
    }

    /** Runs a portal for at most that many rows, 0 for all. */
    public static void execute(ByteBuf out, CharSequence portal, int rows) {
        int start = begin(out, EXECUTE);
        cString(out, portal);
        out.writeInt(rows);
        end(out, start);
    }

    /** Describes a portal. */
    public static void describePortal(ByteBuf out, CharSequence name) {
        named(out, DESCRIBE, 'P', name);
    }

    /** Describes a statement. */
    public static void describeStatement(ByteBuf out, CharSequence name) {
        named(out, DESCRIBE, 'S', name);
    }

    /** Closes a statement. */
    public static void closeStatement(ByteBuf out, CharSequence name) {
        named(out, CLOSE, 'S', name);
    }

    /** Closes a portal. */
    public static void closePortal(ByteBuf out, CharSequence name) {
        named(out, CLOSE, 'P', name);
    }

    private static void named(ByteBuf out, byte type, char kind, CharSequence name) {
        int start = begin(out, type);
        out.writeByte(kind);
        cString(out, name);
        end(out, start);
    }

    /**
     * Calls a function by its object id, with parameters and result in binary form. Answered with a FunctionCallResponse or an
     * error, and with ReadyForQuery.
     */
    public static void functionCall(ByteBuf out, int function, byte @Nullable []... parameters) {
        int start = begin(out, FUNCTION_CALL);
        out.writeInt(function).writeShort(1).writeShort(1).writeShort(parameters.length);
        for (byte @Nullable [] parameter : parameters) {
            parameter(out, parameter);
        }
        out.writeShort(1);
        end(out, start);
    }

    /** Ends an extended query sequence. */
    public static void sync(ByteBuf out) {
        out.writeBytes(SYNC_MESSAGE);
    }

    /** Asks for the responses so far. */
    public static void flush(ByteBuf out) {
        empty(out, FLUSH);
    }

    /** Ends the session. */
    public static void terminate(ByteBuf out) {
        empty(out, TERMINATE);
    }

    /** Some data of a COPY. */
    public static void copyData(ByteBuf out, ByteBuf data) {
        out.writeByte(COPY_DATA).writeInt(4 + data.readableBytes()).writeBytes(data);
    }

    /** End of a COPY. */
    public static void copyDone(ByteBuf out) {
        empty(out, COPY_DONE);
    }

    /** Gives a COPY up. */
    public static void copyFail(ByteBuf out, CharSequence reason) {
        int start = begin(out, COPY_FAIL);
        cString(out, reason);
        end(out, start);
    }

    /** The first SASL message: mechanism and initial response. */
    public static void saslInitialResponse(ByteBuf out, CharSequence mechanism, byte[] response) {
        int start = begin(out, PASSWORD);
        cString(out, mechanism);
        out.writeInt(response.length).writeBytes(response);
        end(out, start);
    }

    /** A further SASL message. */
    public static void saslResponse(ByteBuf out, byte[] response) {
        out.writeByte(PASSWORD).writeInt(4 + response.length).writeBytes(response);
    }

    /** A whole extended-protocol statement without name: Parse, Bind, Execute. No Sync. */
    public static void statement(ByteBuf out, CharSequence sql, @Nullable CharSequence... parameters) {
        parse(out, "", sql);
        bind(out, "", "", parameters);
        execute(out, "", 0);
    }

    static int begin(ByteBuf out, byte type) {
        int start = out.writerIndex();
        out.writeByte(type).writeInt(0);
        return start;
    }

    static void end(ByteBuf out, int start) {
        out.setInt(start + 1, out.writerIndex() - start - 1);
    }

    static void empty(ByteBuf out, byte type) {
        out.writeByte(type).writeInt(4);
    }

    static void cString(ByteBuf out, CharSequence text) {
        int start = out.writerIndex();
        out.writeCharSequence(text, StandardCharsets.UTF_8);
        if (out.indexOf(start, out.writerIndex(), (byte) 0) >= 0) {
            out.writerIndex(start);
            throw new IllegalArgumentException("text with a zero byte cannot be sent to PostgreSQL");
        }
        out.writeByte(0);
    }
}
