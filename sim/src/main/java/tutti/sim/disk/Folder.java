package tutti.sim.disk;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import tutti.sim.kernel.RandomStream;

/**
 * A directory on a simulated disk: which names there are, and what they stand for.
 *
 * <p>
 * <b>What a crash leaves.</b> A creation, a renaming and a deletion are each done wholly or not at all, as the journal of a file
 * system has it. Until a {@link #sync} has ended, any of them may be undone, but those that concern the same name happen in
 * their order: one is undone whenever an earlier one of a name of it is. That is weaker than what ext4 and XFS do, which
 * commit the changes of a whole file system in order, and what btrfs promises, which writes the names of one file without
 * those of others (Pillai et al., "All file systems are not created equal", OSDI 2014).
 */
public final class Folder {
    private final Disk disk;
    private final TreeMap<String, Object> entries = new TreeMap<>();
    private final Deque<Change> unsynced = new ArrayDeque<>();
    private final Deque<Sync> syncs = new ArrayDeque<>();
    private long changes;

    /**
     * A change of names.
     *
     * @param at when it happens
     * @param from the name that goes, or null
     * @param to the name that comes, or null
     * @param node what goes by the name; of a deletion, what is gone
     * @param replaced what had the name before
     * @param safe whether no crash takes it back once it has happened
     */
    private record Change(long number, long at, @Nullable String from, @Nullable String to, Object node,
            @Nullable Object replaced, boolean safe) {}

    private record Sync(long upTo, long at) {}

    Folder(Disk disk) {
        this.disk = disk;
    }

    /** Names of its files, sorted. */
    public List<String> fileNames() {
        List<String> names = new ArrayList<>();
        entries.forEach((name, node) -> {
            if (node instanceof DiskFile) {
                names.add(name);
            }
        });
        return names;
    }

    /** Names of the folders in it, sorted. */
    public List<String> folderNames() {
        return entries.keySet().stream().filter(name -> folder(name) != null).toList();
    }

    /** Whether nothing is in it. */
    public boolean isEmpty() {
        return entries.isEmpty();
    }

    /** Whether there is a file or folder of a name. */
    public boolean exists(String name) {
        return entries.containsKey(name);
    }

    /** The file of a name, or null if there is none. */
    public @Nullable DiskFile file(String name) {
        return entries.get(name) instanceof DiskFile file ? file : null;
    }

    /** The folder of a name, or null if there is none. */
    public @Nullable Folder folder(String name) {
        return entries.get(name) instanceof Folder folder ? folder : null;
    }

    /** Makes a file of a name that there is not, at an instant, now or later. */
    public DiskFile createFile(long atNanos, String name) {
        DiskFile file = new DiskFile(disk, name);
        change(atNanos, null, name, file);
        return file;
    }

    /** Makes a folder of a name that there is not, at an instant, now or later. */
    public Folder createFolder(long atNanos, String name) {
        Folder folder = new Folder(disk);
        change(atNanos, null, name, folder);
        return folder;
    }

    /** Gives what goes by a name another one, at an instant, now or later; the name must be there. */
    public void move(long atNanos, String from, String to) {
        change(atNanos, from, to, entries.get(from));
    }

    /**
     * Has another folder have what goes by a name, at an instant, now or later, and safely from then on: in the journal of a file system
     * that is one change of two directories.
     *
     * @throws IllegalStateException if no sync was asked for behind a change of that name in one of the two: a crash could take back half
     */
    public void moveTo(long atNanos, String name, Folder to) {
        if (isUnsafe(name) || to.isUnsafe(name)) {
            throw new IllegalStateException(name + " is moved, and what happened to it before is not safe");
        }
        Object node = Objects.requireNonNull(entries.get(name), name);
        change(atNanos, name, null, node, true);
        to.change(atNanos, null, name, node, true);
    }

    private boolean isUnsafe(String name) {
        settle();
        long asked = syncs.stream().mapToLong(Sync::upTo).max().orElse(0);
        return unsynced.stream().anyMatch(change -> change.number > asked && !change.safe
                && (name.equals(change.from) || name.equals(change.to)));
    }

    /** Removes a name at an instant, now or later; without effect if it is not there. */
    public void delete(long atNanos, String name) {
        Object node = entries.get(name);
        if (node != null) {
            change(atNanos, name, null, node);
        }
    }

    private void change(long at, @Nullable String from, @Nullable String to, Object node) {
        change(at, from, to, node, false);
    }

    private void change(long at, @Nullable String from, @Nullable String to, Object node, boolean safe) {
        settle();
        Change change = new Change(++changes, at, from, to, node, to == null ? null : entries.get(to), safe);
        unsynced.add(change);
        apply(change);
    }

    private void apply(Change change) {
        if (change.from != null) {
            entries.remove(change.from);
        }
        if (change.to != null) {
            entries.put(change.to, change.node);
            if (change.node instanceof DiskFile file) {
                file.rename(change.to);
            }
        }
    }

    private void takeBack(Change change) {
        if (change.to != null) {
            entries.remove(change.to);
            if (change.replaced != null) {
                entries.put(change.to, change.replaced);
            }
        }
        if (change.from != null) {
            entries.put(change.from, change.node);
            if (change.node instanceof DiskFile file) {
                file.rename(change.from);
            }
        }
    }

    /** Makes all changes so far safe at an instant, at which a request of the disk ends that was made for that. */
    public void sync(long atNanos) {
        if (!unsynced.isEmpty()) {
            syncs.add(new Sync(changes, atNanos));
        }
    }

    private void settle() {
        long upTo = 0;
        for (Sync sync : syncs) {
            upTo = sync.at <= disk.now() ? Math.max(upTo, sync.upTo) : upTo;
        }
        if (upTo > 0) {
            syncs.removeIf(sync -> sync.at <= disk.now());
            while (!unsynced.isEmpty() && unsynced.element().number <= upTo) {
                unsynced.remove();
            }
        }
    }

    /** Makes all changes so far safe at once. */
    void settleAll() {
        unsynced.clear();
        syncs.clear();
    }

    /** Loses what the crash takes, of the names and of the files that are left, and returns a digest of what remains. */
    long crash(Unsynced fate, RandomStream chance) {
        settle();
        syncs.clear();
        List<Change> happened = new ArrayList<>();
        while (!unsynced.isEmpty()) {
            Change change = unsynced.removeLast();
            takeBack(change);
            if (change.at <= disk.now()) {
                happened.addFirst(change);
            }
        }
        Set<String> undone = new HashSet<>();
        boolean gap = false;
        for (Change change : happened) {
            boolean survives = change.safe || switch (fate) {
                case KEPT, CACHED -> true;
                case LOST -> false;
                case TORN -> chance.chance(0.5);
            };
            List<String> names = Stream.of(change.from, change.to).filter(Objects::nonNull).toList();
            boolean kept = survives && names.stream().noneMatch(undone::contains);
            if (kept) {
                change(change.at, change.from, change.to, change.node, change.safe);
            } else {
                undone.addAll(names);
            }
            if (fate == Unsynced.LOST || fate == Unsynced.TORN) {
                disk.left(change.at, kept, kept, gap);
            }
            gap |= !kept;
        }
        if (fate != Unsynced.CACHED) {
            settleAll();
        }
        long digest = 0;
        for (Map.Entry<String, Object> entry : entries.entrySet()) {
            long of = entry.getValue() instanceof DiskFile file
                    ? file.crash(fate, chance)
                    : ((Folder) entry.getValue()).crash(fate, chance);
            digest = 31 * (31 * digest + entry.getKey().hashCode()) + of;
        }
        return digest;
    }

    /** All files, those in folders of it included. */
    void forEachFile(Consumer<DiskFile> action) {
        for (Object node : entries.values()) {
            if (node instanceof DiskFile file) {
                action.accept(file);
            } else {
                ((Folder) node).forEachFile(action);
            }
        }
    }

    /**
     * Has what another folder has of the names that begin so, safely, in place of its own; returns how many of its own there
     * were.
     */
    int replace(String prefix, Folder by) {
        settleAll();
        int before = entries.size();
        entries.keySet().removeIf(name -> name.startsWith(prefix));
        int gone = before - entries.size();
        by.entries.forEach((name, node) -> {
            if (name.startsWith(prefix)) {
                entries.put(name, node);
            }
        });
        return gone;
    }

    /** A folder of its own with all that is read now, and safe. */
    Folder copy() {
        Folder copy = new Folder(disk);
        entries.forEach((name, node) -> copy.entries.put(name,
                node instanceof DiskFile file ? file.copy() : ((Folder) node).copy()));
        return copy;
    }
}
