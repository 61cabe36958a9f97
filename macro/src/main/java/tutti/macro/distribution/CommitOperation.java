package tutti.macro.distribution;

import tutti.core.txn.KeyKind;
import tutti.core.txn.KeySet;
import tutti.core.txn.WriteSet;

/**
 * The macro-operation by which a {@link TransactionalComponent}'s transaction asks to commit (MacroDDB, listing 4.2): every node decides by itself,
 * and alike.
 *
 * @param snapshot position up to which the transaction has seen everything
 */
record CommitOperation(long snapshot, WriteSet writes) implements MacroOperation<Object> {
    @Override
    public Object execute(Object component) {
        throw new IllegalStateException("only a transactional component can commit a transaction");
    }

    void write(Output to) {
        KeySet keys = writes.keys();
        to.writeUnsigned(snapshot);
        to.writeUnsigned(keys.size());
        for (int i = 0; i < keys.size(); i++) {
            to.writeByte(keys.kind(i).ordinal());
            to.writeLong(keys.hash(i));
        }
        to.writeBytes(writes.changes());
    }

    static CommitOperation read(Input from) {
        long snapshot = from.readUnsigned();
        KeySet.Builder keys = new KeySet.Builder();
        for (int left = from.readCount(); left > 0; left--) {
            KeyKind kind = KeyKind.of(from.readByte());
            if (!kind.writes()) {
                throw new EncodingException("a write set has a key that was only read");
            }
            keys.add(from.readLong(), kind);
        }
        return new CommitOperation(snapshot, new WriteSet(keys.build(), from.readBytes()));
    }
}
