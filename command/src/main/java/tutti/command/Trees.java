package tutti.command;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import org.jspecify.annotations.Nullable;

/** Directories with all that is in them. */
public final class Trees {
    private Trees() {}

    /** Removes one; without effect if it is not there. Somebody else may be removing it, too. */
    public static void delete(Path root) throws IOException {
        if (!Files.exists(root, LinkOption.NOFOLLOW_LINKS)) {
            return;
        }
        Files.walkFileTree(root, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                Files.deleteIfExists(file);
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFileFailed(Path file, IOException failed) throws IOException {
                if (failed instanceof NoSuchFileException) {
                    return FileVisitResult.CONTINUE;
                }
                throw failed;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path directory, @Nullable IOException failed)
                    throws IOException {
                if (failed != null && !(failed instanceof NoSuchFileException)) {
                    throw failed;
                }
                Files.deleteIfExists(directory);
                return FileVisitResult.CONTINUE;
            }
        });
    }

    /**
     * Copies a directory with everything in it to a place where nothing is, sockets and the like excepted; nobody writes into it meanwhile.
     * The copy is safe when this returns, but for its name ({@link #sync}).
     */
    public static void copy(Path from, Path to) throws IOException {
        Files.walkFileTree(from, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult preVisitDirectory(Path directory, BasicFileAttributes attributes)
                    throws IOException {
                Files.copy(directory, to.resolve(from.relativize(directory)), StandardCopyOption.COPY_ATTRIBUTES);
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                if (attributes.isOther()) {
                    return FileVisitResult.CONTINUE;
                }
                sync(Files.copy(file, to.resolve(from.relativize(file)), StandardCopyOption.COPY_ATTRIBUTES));
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path directory, @Nullable IOException failed)
                    throws IOException {
                if (failed != null) {
                    throw failed;
                }
                sync(to.resolve(from.relativize(directory)));
                return FileVisitResult.CONTINUE;
            }
        });
    }

    /** Makes safe what is in a file, or which files there are in a directory. */
    public static void sync(Path path) throws IOException {
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }
}
