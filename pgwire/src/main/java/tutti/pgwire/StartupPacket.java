package tutti.pgwire;

import io.netty.buffer.ByteBuf;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;

/** What a client that has just connected wants: the packets without type byte that may begin a connection. */
public sealed interface StartupPacket {
    /** It asks for TLS. */
    record Ssl() implements StartupPacket {}

    /** It asks for GSSAPI encryption. */
    record Gss() implements StartupPacket {}

    /** It wants what another connection runs to be cancelled. The array must not be modified; it is empty if the packet has no key that could be one. */
    record Cancel(int processId, byte[] secretKey) implements StartupPacket {}

    /**
     * It begins a session.
     *
     * @param major protocol version, major part
     * @param minor protocol version, minor part
     * @param parameters in the order sent
     */
    record Startup(int major, int minor, Map<String, String> parameters) implements StartupPacket {}

    /** It speaks a protocol before the third, in which errors are told otherwise. */
    record Old(int major, int minor) implements StartupPacket {
        /** Why it is refused. */
        public String refusal() {
            return unsupported(major, minor);
        }
    }

    /** Reads a packet's body, that is, what follows its length: as PostgreSQL reads it, which takes a last letter for the end, whatever it is. */
    static StartupPacket read(ByteBuf body) {
        int code = Fields.int32(body);
        switch (code) {
            case Frontend.SSL_CODE -> {
                return new Ssl();
            }
            case Frontend.GSS_CODE -> {
                return new Gss();
            }
            case Frontend.CANCEL_CODE -> {
                int processId = body.readableBytes() < Integer.BYTES ? 0 : body.readInt();
                byte[] key = Fields.rest(body);
                return new Cancel(processId, key.length < 4 || key.length > 256 ? new byte[0] : key);
            }
            default -> {
                // as PostgreSQL answers them, to which 0 is no version
                if (code >>> 16 < 3 && code != 0) {
                    return new Old(code >>> 16, code & 0xffff);
                }
                if (code >>> 16 != 3) {
                    throw unsupported(code);
                }
            }
        }
        Map<String, String> parameters = new LinkedHashMap<>();
        while (body.isReadable()) {
            int length = body.bytesBefore((byte) 0);
            if (length == 0 || length < 0 || length + 1 == body.readableBytes()) {
                break;
            }
            String name = Fields.cString(body);
            if (body.bytesBefore((byte) 0) < 0) {
                throw layout();
            }
            parameters.put(name, Fields.cString(body));
        }
        if (body.readableBytes() != 1) {
            throw layout();
        }
        return new Startup(code >>> 16, code & 0xffff, Collections.unmodifiableMap(parameters));
    }

    private static ProtocolViolation layout() {
        return new ProtocolViolation("invalid startup packet layout: expected terminator as last byte");
    }

    /** What is said of a packet with this code where none may come. */
    static ProtocolViolation unsupported(int code) {
        return new ProtocolViolation(unsupported(code >>> 16, code & 0xffff), "0A000");
    }

    private static String unsupported(int major, int minor) {
        return "unsupported frontend protocol " + major + "." + minor + ": server supports 3.0 to 3.2";
    }
}
