package tutti.macro.distribution;

/**
 * Which request a reply belongs to (MacroDDB, section 4.2.2). Unique: a node draws a new session number each time it
 * starts, so that replies to what it asked before it died find nobody waiting.
 *
 * @param node that asked
 * @param session of that node's life
 * @param number counting from 1 in the session
 */
public record RequestId(int node, long session, long number) {
    void write(Output to) {
        to.writeUnsigned(node);
        to.writeLong(session);
        to.writeUnsigned(number);
    }

    static RequestId read(Input from) {
        return new RequestId((int) from.readUnsigned(), from.readLong(), from.readUnsigned());
    }
}
