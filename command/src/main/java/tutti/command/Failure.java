package tutti.command;

import java.io.IOException;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/** A command cannot do what it was asked. Its message is for the person who called it: what happened, what to do. */
public final class Failure extends RuntimeException {
    private static final long serialVersionUID = 1;

    private final int exitStatus;

    /**
     * A failure, exit status 1.
     *
     * @param what happened, to what
     * @param remedy what to do about it; may be empty
     */
    public Failure(String what, String remedy) {
        this(what, remedy, Program.FAILURE, null);
    }

    /** Likewise, with its cause, which {@code --verbose} shows. */
    public Failure(String what, String remedy, @Nullable Throwable cause) {
        this(what, remedy, Program.FAILURE, cause);
    }

    private Failure(String what, String remedy, int exitStatus, @Nullable Throwable cause) {
        super(remedy.isEmpty() ? what : what + System.lineSeparator() + "  " + remedy, cause);
        this.exitStatus = exitStatus;
    }

    /** The command was called wrongly: exit status 2. */
    public static Failure usage(String what, String remedy) {
        return new Failure(what, remedy, Program.USAGE, null);
    }

    /** A failure for which a file or a server was the reason: {@linkplain #said what it says}, exit status 1. */
    public static Failure of(IOException cause, String remedy) {
        return new Failure(said(cause), remedy, cause);
    }

    int exitStatus() {
        return exitStatus;
    }

    /** What a person is told of any exception: its message and those of its causes that add something. */
    public static String explain(Throwable failure) {
        if (failure instanceof Failure && failure.getMessage() != null) {
            return failure.getMessage();
        }
        StringBuilder text = new StringBuilder();
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            String message = said(cause);
            if (text.indexOf(message) < 0) {
                text.append(text.isEmpty() ? "" : ": ").append(message);
            }
        }
        return text.append(System.lineSeparator()).append("  --verbose shows where").toString();
    }

    /** What an exception alone says. Those of the file system say no more than the file's name: so what is wrong with it is added. */
    public static String said(Throwable failure) {
        String message = failure.getMessage() == null ? failure.getClass().getSimpleName() : failure.getMessage();
        if (!(failure instanceof FileSystemException file) || file.getReason() != null) {
            return message;
        }
        return message + switch (file) {
            case AccessDeniedException _ -> " may not be read or written by user " + System.getProperty("user.name")
                    + owner(file.getFile());
            case NoSuchFileException _ -> " is not there";
            case FileAlreadyExistsException _ -> " is there already";
            case DirectoryNotEmptyException _ -> " is not empty";
            case NotDirectoryException _ -> " is no directory";
            default -> " cannot be used";
        };
    }

    private static String owner(@Nullable String file) {
        try {
            return file == null ? "" : ": it belongs to " + Files.getOwner(Path.of(file)).getName();
        } catch (IOException | InvalidPathException | UnsupportedOperationException unseen) {
            return ", or the directories above it may not be entered";
        }
    }
}
