package tutti.sim.machine;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NoSuchFileException;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tutti.runtime.DataFile;
import tutti.runtime.Directory;
import tutti.sim.disk.Disk;
import tutti.sim.disk.DiskFile;
import tutti.sim.disk.Folder;

/** A directory of a simulated disk. */
final class SimDirectory implements Directory {
    /** What a system call takes that does not wait for the disk. */
    private static final long CALL_NANOS = 2_000;
    private static final int NAMES_BYTES = 4096;

    private final SimMachine machine;
    private final Folder folder;
    private final String path;

    SimDirectory(SimMachine machine, Folder folder, String path) {
        this.machine = machine;
        this.folder = folder;
        this.path = path;
    }

    @Override
    public String location() {
        return path;
    }

    private void operation(String name, Disk.@Nullable Rare rare) {
        if (name.isEmpty() || name.equals(".") || name.equals("..") || name.indexOf('/') >= 0
                || name.indexOf('\\') >= 0) {
            throw new IllegalArgumentException("'" + name + "' is no name of a file in " + path);
        }
        machine.operation(rare);
        machine.pass(CALL_NANOS);
    }

    private void requireRoom(String name) throws IOException {
        if (!machine.disk().hasRoom()) {
            throw new IOException("No space left on device, making " + location(name));
        }
    }

    @Override
    public Directory directory(String name) throws IOException {
        operation(name, null);
        Folder inside = folder.folder(name);
        if (inside == null) {
            if (folder.exists(name)) {
                throw new FileAlreadyExistsException(location(name));
            }
            requireRoom(name);
            inside = folder.createFolder(machine.now(), name);
            sync();
        }
        return new SimDirectory(machine, inside, location(name));
    }

    @Override
    public List<String> list() {
        machine.operation(null);
        machine.pass(CALL_NANOS);
        return folder.fileNames();
    }

    @Override
    public List<String> directories() {
        machine.operation(null);
        machine.pass(CALL_NANOS);
        return folder.folderNames();
    }

    @Override
    public boolean exists(String name) {
        operation(name, null);
        return folder.exists(name);
    }

    @Override
    public DataFile open(String name, Open how) throws IOException {
        operation(name, folder.exists(name) ? null : Disk.Rare.MAKE);
        DiskFile file = folder.file(name);
        if (file == null && (how == Open.EXISTING || folder.exists(name))) {
            throw new NoSuchFileException(location(name));
        }
        if (file != null && how == Open.NEW) {
            throw new FileAlreadyExistsException(location(name));
        }
        if (file == null) {
            requireRoom(name);
            file = folder.createFile(machine.now(), name);
        } else if (how == Open.EMPTY) {
            file.resize(machine.now(), 0);
        }
        return new SimFile(machine, file, location(name));
    }

    @Override
    public void move(String from, String to) throws IOException {
        operation(from, null);
        operation(to, Disk.Rare.MOVE);
        if (folder.file(from) == null) {
            throw new NoSuchFileException(location(from));
        }
        if (folder.folder(to) != null) {
            throw new FileAlreadyExistsException(location(to));
        }
        folder.move(machine.now(), from, to);
    }

    @Override
    public void moveTo(String name, Directory other) throws IOException {
        if (!(other instanceof SimDirectory to) || !to.machine.disk().equals(machine.disk())) {
            throw new IllegalArgumentException(other.location() + " is on another disk");
        }
        operation(name, Disk.Rare.MOVE);
        if (!folder.exists(name)) {
            throw new NoSuchFileException(location(name));
        }
        if (to.folder.exists(name)) {
            throw new FileAlreadyExistsException(to.location(name));
        }
        folder.moveTo(machine.now(), name, to.folder);
    }

    @Override
    public void delete(String name) throws IOException {
        operation(name, Disk.Rare.DELETE);
        Folder inside = folder.folder(name);
        if (inside != null && !inside.isEmpty()) {
            throw new DirectoryNotEmptyException(location(name));
        }
        folder.delete(machine.now(), name);
    }

    @Override
    public void sync() throws IOException {
        machine.operation(Disk.Rare.SYNC);
        machine.request(NAMES_BYTES);
        if (machine.disk().failsSync()) {
            throw new IOException("Input/output error, syncing " + path);
        }
        if (!machine.disk().skipsSync()) {
            folder.sync(machine.now());
        }
    }

    @Override
    public Closeable lock(String name) throws IOException {
        operation(name, null);
        DiskFile file = folder.file(name);
        if (file == null) {
            requireRoom(name);
            file = folder.createFile(machine.now(), name);
        }
        if (!machine.lock(file)) {
            throw new IOException(path + " is in use by this very process");
        }
        DiskFile locked = file;
        return () -> machine.unlock(locked);
    }

    @Override
    public String toString() {
        return path;
    }
}
