package tutti.node.copy;

import java.util.List;
import tutti.core.schema.Encoded;
import tutti.core.schema.Field;
import tutti.core.schema.MessageSet;
import tutti.core.schema.Schema;
import tutti.core.schema.Types;
import tutti.core.schema.Versions;

/** What a node that gives a copy and one that gets it tell each other, each in a frame ({@link tutti.runtime.Frames}). */
sealed interface CopyMessage extends Encoded {
    /** Longest text in one of them, in bytes. */
    int TEXT_BYTES_MAX = 1 << 14;
    /** Longest content of one piece, in bytes. */
    int PIECE_BYTES_MAX = 1 << 18;
    /**
     * In which they are written on a connection: the oldest that this build speaks, since nobody has said what the other end does, and nodes of two
     * releases give each other copies while a cluster is upgraded.
     */
    int VERSION = Versions.SPOKEN.oldest();
    /** How much may be on its way and not written down ({@link Piece#weight}) before nothing more is sent, in bytes. */
    int AHEAD_BYTES_MAX = 4 << 20;
    /** What a piece takes besides its content and path, in bytes. */
    int OVERHEAD_BYTES = 128;
    /** A piece that says that a directory is there. */
    long OF_DIRECTORY = -1;

    /**
     * Somebody wants a copy.
     *
     * @param node its number
     * @param directory number of its new order directory
     * @param state what is to be copied, in words that are the same at both nodes
     * @param leader whether the leader of the order may give it, too
     */
    record Ask(int node, long directory, String state, boolean leader) implements CopyMessage {
        static final Schema<Ask> SCHEMA = Schema.message("ask", 1, Ask.class, "Somebody wants a copy.").of(
                Field.of("node", Types.u8(0, 255), Ask::node), Field.of("directory", Types.LONG, Ask::directory),
                Field.of("state", Types.text(TEXT_BYTES_MAX), Ask::state),
                Field.of("leader", Types.BOOLEAN, Ask::leader), Ask::new);
    }

    /**
     * Somebody wants to have the rest of one.
     *
     * @param copy its number
     * @param received so many pieces have come
     */
    record Resume(long copy, long received) implements CopyMessage {
        static final Schema<Resume> SCHEMA = Schema
                .message("resume", 2, Resume.class, "Somebody wants to have the rest of a copy.")
                .of(Field.of("copy", Types.LONG, Resume::copy), Field.of("received", Types.NATURAL, Resume::received),
                        Resume::new);
    }

    /**
     * No.
     *
     * @param why for people
     * @param lasting whether asking again is of no use
     */
    record Refused(String why, boolean lasting) implements CopyMessage {
        static final Schema<Refused> SCHEMA = Schema.message("refused", 3, Refused.class, "There is no copy.").of(
                Field.of("why", Types.text(TEXT_BYTES_MAX), Refused::why),
                Field.of("lasting", Types.BOOLEAN, Refused::lasting), Refused::new);
    }

    /**
     * Yes; pieces will follow.
     *
     * @param copy number by which it can be resumed, which nobody else can guess
     */
    record Granted(long copy) implements CopyMessage {
        static final Schema<Granted> SCHEMA = Schema.message("granted", 4, Granted.class, "Pieces will follow.")
                .of(Field.of("copy", Types.LONG, Granted::copy), Granted::new);
    }

    /**
     * A part of a file.
     *
     * @param number from 1 on, without gaps
     * @param path of the file, with slashes
     * @param offset where it begins in the file; {@link #OF_DIRECTORY} if that is a directory
     * @param length of the content, in bytes
     * @param deflated whether the content comes compressed (RFC 1951)
     */
    record Piece(long number, String path, long offset, int length, boolean deflated,
            byte[] content) implements CopyMessage {
        static final Schema<Piece> SCHEMA = Schema.message("piece", 5, Piece.class, "A part of a file.").of(
                Field.of("number", Types.POSITIVE, Piece::number),
                Field.of("path", Types.text(TEXT_BYTES_MAX), Piece::path),
                Field.of("offset", Types.LONG, Piece::offset),
                Field.of("length", Types.integer(0, PIECE_BYTES_MAX), Piece::length),
                Field.of("deflated", Types.BOOLEAN, Piece::deflated),
                Field.of("content", Types.bytes(PIECE_BYTES_MAX), Piece::content), Piece::new);

        /** What it takes in memory, about, in bytes. */
        int weight() {
            return content.length + path.length() + OVERHEAD_BYTES;
        }
    }

    /**
     * That was all.
     *
     * @param pieces how many there were
     * @param digest of all ({@link CopyDigest})
     */
    record End(long pieces, byte[] digest) implements CopyMessage {
        static final Schema<End> SCHEMA = Schema.message("end", 6, End.class, "That was all.").of(
                Field.of("pieces", Types.NATURAL, End::pieces),
                Field.of("digest", Types.bytes(CopyDigest.BYTES), End::digest), End::new);
    }

    /** The receiver has written down all pieces up to this one. */
    record Written(long number) implements CopyMessage {
        static final Schema<Written> SCHEMA = Schema
                .message("written", 7, Written.class, "All pieces up to this one are written down.")
                .of(Field.of("number", Types.NATURAL, Written::number), Written::new);
    }

    /** The receiver has all of it, safely. */
    record Complete() implements CopyMessage {
        static final Schema<Complete> SCHEMA = Schema
                .message("complete", 8, Complete.class, "The receiver has all of it, safely.").of(Complete::new);
    }

    /** All of them. */
    MessageSet<CopyMessage> SET = new MessageSet<>("copies",
            "Between a node that gives a copy of its state and one that gets it, behind eight bytes `TuttiCop` on a connection to the"
                    + " order's address, each in a frame: its length of 4 bytes, a CRC-32C of 4 bytes, and the message.",
            List.of(Ask.SCHEMA, Resume.SCHEMA, Refused.SCHEMA, Granted.SCHEMA, Piece.SCHEMA, End.SCHEMA,
                    Written.SCHEMA, Complete.SCHEMA));
}
