package tutti.sim.world.database;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import tutti.workload.listappend.ListAppendOperation;

/** What a request did to lists, as its client is told by whoever has executed it. */
public final class RunResponse {
    private static final byte READ = 0;
    private static final byte APPEND = 1;

    private RunResponse() {}

    static byte[] of(List<ListAppendOperation> operations) {
        int size = 0;
        for (ListAppendOperation operation : operations) {
            size += 1 + Long.BYTES + Integer.BYTES
                    + (operation instanceof ListAppendOperation.Read read ? read.values().length * Integer.BYTES : 0);
        }
        ByteBuffer to = ByteBuffer.allocate(size);
        for (ListAppendOperation operation : operations) {
            switch (operation) {
                case ListAppendOperation.Read read -> {
                    to.put(READ).putLong(read.key()).putInt(read.values().length);
                    for (int value : read.values()) {
                        to.putInt(value);
                    }
                }
                case ListAppendOperation.Append append -> to.put(APPEND).putLong(append.key()).putInt(append.value());
            }
        }
        return to.array();
    }

    /** Reads it. */
    public static List<ListAppendOperation> read(byte[] response) {
        ByteBuffer from = ByteBuffer.wrap(response);
        List<ListAppendOperation> operations = new ArrayList<>();
        while (from.hasRemaining()) {
            boolean reads = from.get() == READ;
            long key = from.getLong();
            if (reads) {
                int[] values = new int[from.getInt()];
                for (int i = 0; i < values.length; i++) {
                    values[i] = from.getInt();
                }
                operations.add(new ListAppendOperation.Read(key, values));
            } else {
                operations.add(new ListAppendOperation.Append(key, from.getInt()));
            }
        }
        return operations;
    }
}
