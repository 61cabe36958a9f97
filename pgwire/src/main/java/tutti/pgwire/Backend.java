package tutti.pgwire;

import io.netty.buffer.ByteBuf;
import java.util.Collection;

/**
 * The messages that a server sends: their type bytes, and a writer for each that Tutti itself sends. Every writer
 * appends exactly one message to the buffer.
 */
public final class Backend {
    /** Authentication request or success. */
    public static final byte AUTHENTICATION = 'R';
    /** Key for cancel requests. */
    public static final byte BACKEND_KEY_DATA = 'K';
    /** A parameter's value, now. */
    public static final byte PARAMETER_STATUS = 'S';
    /** Ready for the next query, with the transaction status. */
    public static final byte READY_FOR_QUERY = 'Z';
    /** Column descriptions. */
    public static final byte ROW_DESCRIPTION = 'T';
    /** One row. */
    public static final byte DATA_ROW = 'D';
    /** A statement is complete. */
    public static final byte COMMAND_COMPLETE = 'C';
    /** An empty statement is complete. */
    public static final byte EMPTY_QUERY = 'I';
    /** An error. */
    public static final byte ERROR_RESPONSE = 'E';
    /** A notice. */
    public static final byte NOTICE_RESPONSE = 'N';
    /** A notification of LISTEN. */
    public static final byte NOTIFICATION_RESPONSE = 'A';
    /** Parse succeeded. */
    public static final byte PARSE_COMPLETE = '1';
    /** Bind succeeded. */
    public static final byte BIND_COMPLETE = '2';
    /** Close succeeded. */
    public static final byte CLOSE_COMPLETE = '3';
    /** The statement returns no rows. */
    public static final byte NO_DATA = 'n';
    /** Types of a statement's parameters. */
    public static final byte PARAMETER_DESCRIPTION = 't';
    /** The row limit of Execute was reached. */
    public static final byte PORTAL_SUSPENDED = 's';
    /** COPY FROM STDIN begins. */
    public static final byte COPY_IN_RESPONSE = 'G';
    /** COPY TO STDOUT begins. */
    public static final byte COPY_OUT_RESPONSE = 'H';
    /** Both directions, of replication connections. */
    public static final byte COPY_BOTH_RESPONSE = 'W';
    /** Data of a COPY. */
    public static final byte COPY_DATA = 'd';
    /** End of a COPY. */
    public static final byte COPY_DONE = 'c';
    /** Answer of a function call. */
    public static final byte FUNCTION_CALL_RESPONSE = 'V';
    /** What of the asked-for protocol the server does not know. */
    public static final byte NEGOTIATE_PROTOCOL = 'v';

    /** Transaction status: idle. */
    public static final byte IDLE = 'I';
    /** Transaction status: in a transaction block. */
    public static final byte IN_TRANSACTION = 'T';
    /** Transaction status: in a failed transaction block. */
    public static final byte FAILED = 'E';

    /** Authentication code: success. */
    public static final int AUTHENTICATION_OK = 0;
    /** Authentication code: password in clear text. */
    public static final int AUTHENTICATION_CLEARTEXT = 3;
    /** Authentication code: MD5. */
    public static final int AUTHENTICATION_MD5 = 5;
    /** Authentication code: SASL mechanisms. */
    public static final int AUTHENTICATION_SASL = 10;
    /** Authentication code: SASL challenge. */
    public static final int AUTHENTICATION_SASL_CONTINUE = 11;
    /** Authentication code: SASL outcome. */
    public static final int AUTHENTICATION_SASL_FINAL = 12;

    private Backend() {}

    /**
     * How much of a message's body whoever reads from a server wants.
     *
     * @return {@code bytes}
     * @throws ProtocolViolation if no server sends messages of this type
     */
    public static int wanted(byte type, int bytes) {
        if (!isType(type)) {
            throw new ProtocolViolation("no such message type from a server: " + (type & 0xff));
        }
        return bytes;
    }

    private static boolean isType(byte type) {
        return switch (type) {
            case AUTHENTICATION, BACKEND_KEY_DATA, PARAMETER_STATUS, READY_FOR_QUERY, ROW_DESCRIPTION, DATA_ROW,
                    COMMAND_COMPLETE, EMPTY_QUERY, ERROR_RESPONSE, NOTICE_RESPONSE, NOTIFICATION_RESPONSE,
                    PARSE_COMPLETE, BIND_COMPLETE, CLOSE_COMPLETE, NO_DATA, PARAMETER_DESCRIPTION, PORTAL_SUSPENDED,
                    COPY_IN_RESPONSE, COPY_OUT_RESPONSE, COPY_BOTH_RESPONSE, COPY_DATA, COPY_DONE,
                    FUNCTION_CALL_RESPONSE, NEGOTIATE_PROTOCOL ->
                true;
            default -> false;
        };
    }

    /** The client is who it says. */
    public static void authenticationOk(ByteBuf out) {
        out.writeByte(AUTHENTICATION).writeInt(8).writeInt(AUTHENTICATION_OK);
    }

    /** Offers SASL mechanisms. */
    public static void authenticationSasl(ByteBuf out, Iterable<String> mechanisms) {
        int start = Frontend.begin(out, AUTHENTICATION);
        out.writeInt(AUTHENTICATION_SASL);
        for (String mechanism : mechanisms) {
            Frontend.cString(out, mechanism);
        }
        out.writeByte(0);
        Frontend.end(out, start);
    }

    /** SASL challenge. */
    public static void authenticationSaslContinue(ByteBuf out, byte[] data) {
        out.writeByte(AUTHENTICATION).writeInt(8 + data.length).writeInt(AUTHENTICATION_SASL_CONTINUE).writeBytes(data);
    }

    /** SASL outcome. */
    public static void authenticationSaslFinal(ByteBuf out, byte[] data) {
        out.writeByte(AUTHENTICATION).writeInt(8 + data.length).writeInt(AUTHENTICATION_SASL_FINAL).writeBytes(data);
    }

    /** Tells which protocol version is spoken and which options are not known. */
    public static void negotiateProtocol(ByteBuf out, int newestProtocol, Collection<String> unknownOptions) {
        int start = Frontend.begin(out, NEGOTIATE_PROTOCOL);
        out.writeInt(newestProtocol).writeInt(unknownOptions.size());
        for (String option : unknownOptions) {
            Frontend.cString(out, option);
        }
        Frontend.end(out, start);
    }

    /** The value of a parameter. */
    public static void parameterStatus(ByteBuf out, String name, String value) {
        int start = Frontend.begin(out, PARAMETER_STATUS);
        Frontend.cString(out, name);
        Frontend.cString(out, value);
        Frontend.end(out, start);
    }

    /** Key for cancel requests. */
    public static void backendKeyData(ByteBuf out, int processId, byte[] secretKey) {
        out.writeByte(BACKEND_KEY_DATA).writeInt(8 + secretKey.length).writeInt(processId).writeBytes(secretKey);
    }

    /** Ready for the next query. */
    public static void readyForQuery(ByteBuf out, byte status) {
        out.writeByte(READY_FOR_QUERY).writeInt(5).writeByte(status);
    }

    /** A statement is complete. */
    public static void commandComplete(ByteBuf out, CharSequence tag) {
        int start = Frontend.begin(out, COMMAND_COMPLETE);
        Frontend.cString(out, tag);
        Frontend.end(out, start);
    }

    /** An empty message of this type, such as ParseComplete, BindComplete, CloseComplete or NoData. */
    public static void empty(ByteBuf out, byte type) {
        Frontend.empty(out, type);
    }

    /** An error; the fields include their severity. */
    public static void errorResponse(ByteBuf out, ErrorFields fields) {
        fields.write(out, ERROR_RESPONSE);
    }

    /** A notice; the fields include their severity. */
    public static void noticeResponse(ByteBuf out, ErrorFields fields) {
        fields.write(out, NOTICE_RESPONSE);
    }

    /** Columns of text, for results that Tutti makes itself. */
    public static void rowDescription(ByteBuf out, String... names) {
        int start = Frontend.begin(out, ROW_DESCRIPTION);
        out.writeShort(names.length);
        for (String name : names) {
            Frontend.cString(out, name);
            out.writeInt(0).writeShort(0).writeInt(25).writeShort(-1).writeInt(-1).writeShort(0);
        }
        Frontend.end(out, start);
    }

    /** A row of text. */
    public static void dataRow(ByteBuf out, String... values) {
        int start = Frontend.begin(out, DATA_ROW);
        out.writeShort(values.length);
        for (String value : values) {
            Frontend.parameter(out, value);
        }
        Frontend.end(out, start);
    }
}
