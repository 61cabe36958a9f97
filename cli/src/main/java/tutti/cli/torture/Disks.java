package tutti.cli.torture;

import java.io.IOException;
import java.io.OutputStream;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tutti.command.Failure;

/**
 * A small file system for the data of each node: ext4 in a file, or else in memory. They are mounted in a mount namespace that was made
 * for this process, and go with it. One thread; {@link #busy} is another's.
 */
final class Disks implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Disks.class);
    private static final String BALLAST = "ballast";
    private static final int BUSY_BYTES = 4 << 20;

    private final List<Path> mounted = new ArrayList<>();
    private final boolean onDisk;

    private Disks(boolean onDisk) {
        this.onDisk = onDisk;
    }

    /**
     * Makes and mounts one in place of each of these directories.
     *
     * @param images where their files are
     * @param mebibytes size of each
     * @throws Failure if none can be mounted here
     */
    static Disks mount(Path images, List<Path> places, int mebibytes) {
        try {
            for (Path place : places) {
                Files.createDirectories(place);
            }
            Path image = images.resolve("disk-0");
            create(image, mebibytes);
            boolean loops = Tools.works("mount", "-o", "loop", image.toString(), places.getFirst().toString());
            Disks made = new Disks(loops);
            for (int i = 0; i < places.size(); i++) {
                String place = places.get(i).toString();
                if (!loops) {
                    Tools.run("mount", "-t", "tmpfs", "-o", "mode=0700,size=" + mebibytes + "m", "tmpfs", place);
                } else if (i > 0) {
                    Path next = images.resolve("disk-" + i);
                    create(next, mebibytes);
                    Tools.run("mount", "-o", "loop", next.toString(), place);
                }
                made.mounted.add(places.get(i));
            }
            return made;
        } catch (IOException e) {
            throw new Failure("cannot make file systems in " + images + ": " + e.getMessage(), "", e);
        }
    }

    private static void create(Path image, int mebibytes) throws IOException {
        try (RandomAccessFile file = new RandomAccessFile(image.toFile(), "rw")) {
            file.setLength((long) mebibytes << 20);
        }
        Tools.run("mkfs.ext4", "-q", "-F", "-m", "0", image.toString());
    }

    /** Whether they are on a disk; otherwise in memory. */
    boolean onDisk() {
        return onDisk;
    }

    /** Takes all the space of a file system. */
    void fill(int id) {
        Path ballast = mounted.get(id).resolve(BALLAST);
        try {
            long free = Files.getFileStore(mounted.get(id)).getUsableSpace();
            // Reserved, not written: the file that holds the file system does not grow.
            Tools.run("fallocate", "--length", String.valueOf(Math.max(1, free - (free >> 6))), ballast.toString());
            byte[] block = new byte[1 << 16];
            try (OutputStream out = Files.newOutputStream(ballast, StandardOpenOption.APPEND)) {
                while (true) {
                    out.write(block);
                }
            } catch (IOException full) {
                LOG.debug("{} is full: {}", mounted.get(id), full.getMessage());
            }
        } catch (IOException e) {
            throw new Failure("cannot fill " + mounted.get(id) + ": " + e.getMessage(), "", e);
        }
    }

    /** Gives the space back. */
    void empty(int id) {
        try {
            Files.deleteIfExists(mounted.get(id).resolve(BALLAST));
        } catch (IOException e) {
            throw new Failure("cannot give back the space of " + mounted.get(id) + ": " + e.getMessage(), "", e);
        }
    }

    /**
     * Writes to a file system and forces it to disk, again and again.
     *
     * @return how long the last bytes took to get there on average, in milliseconds
     */
    double busy(int id, long millis) throws IOException {
        Path file = mounted.get(id).resolve("busy");
        long begun = System.nanoTime();
        long end = begun + millis * 1_000_000;
        long forced = 0;
        int times = 0;
        ByteBuffer block = ByteBuffer.allocateDirect(BUSY_BYTES);
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE,
                StandardOpenOption.DELETE_ON_CLOSE)) {
            while (System.nanoTime() < end) {
                for (int i = 0; i < 8; i++) {
                    int _ = channel.write(block.clear(), (long) i * BUSY_BYTES);
                }
                long before = System.nanoTime();
                channel.force(true);
                forced += System.nanoTime() - before;
                times++;
            }
        }
        return times == 0 ? 0 : forced / 1e6 / times;
    }

    @Override
    public void close() {
        for (Path place : mounted) {
            if (!Tools.works("umount", place.toString())) {
                // Somebody still has a file of it open; the kernel does it when the last one is closed.
                Tools.works("umount", "--lazy", place.toString());
            }
        }
        mounted.clear();
    }
}
