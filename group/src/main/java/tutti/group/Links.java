package tutti.group;

import java.util.List;

/** Members by index for the layers above, by number for the world. */
final class Links {
    private final List<Integer> ids;
    private final GroupEffects effects;

    Links(List<Integer> ids, GroupEffects effects) {
        this.ids = ids;
        this.effects = effects;
    }

    int id(int member) {
        return ids.get(member);
    }

    int configured() {
        return ids.size();
    }

    void send(int member, Packet packet) {
        effects.send(ids.get(member), packet);
    }

    void multicast(Packet packet) {
        if (ids.size() > 1) {
            effects.multicast(packet);
        }
    }
}
