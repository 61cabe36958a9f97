package tutti.model;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import tutti.sim.net.LinkConfig;

/**
 * Where the sites are: clusters, each a local network, whose border routers are joined to a backbone router by links of one
 * kind (D5.1, figures 3.1 and 3.2).
 *
 * @param clusters names, with how many sites each has; sites are numbered in this order
 * @param cores of a machine
 * @param speed of a core, relative to the one that was calibrated
 * @param quantumNanos of the processors' round robin
 * @param local how sites are attached to their local network
 * @param wide a link between a border router and the backbone router
 * @param machines whose processors the sites have: site i those of machine i modulo this; as many as sites if each has its own
 */
public record Topology(List<Cluster> clusters, int cores, double speed, long quantumNanos, LinkConfig local,
        LinkConfig wide, int machines) {
    /**
     * Some sites in one place.
     *
     * @param name unique
     * @param sites at least 1
     */
    public record Cluster(String name, int sites) {}

    public Topology {
        clusters = List.copyOf(clusters);
        if (clusters.isEmpty() || clusters.stream().anyMatch(cluster -> cluster.sites < 1)) {
            throw new IllegalArgumentException("every cluster needs a site, and there must be one: " + clusters);
        }
        if (clusters.stream().map(Cluster::name).distinct().count() < clusters.size()) {
            throw new IllegalArgumentException("two clusters have the same name: " + clusters);
        }
        int sites = clusters.stream().mapToInt(Cluster::sites).sum();
        if (machines < 1 || machines > sites) {
            throw new IllegalArgumentException(sites + " sites on " + machines + " machines");
        }
        if (cores < 1 || !(speed > 0) || quantumNanos < 1) {
            throw new IllegalArgumentException("impossible processors: " + cores + " of speed " + speed + ", quantum "
                    + quantumNanos + " ns");
        }
    }

    /** Number of sites. */
    public int sites() {
        return clusters.stream().mapToInt(Cluster::sites).sum();
    }

    /** The cluster of a site, as its place among the clusters. */
    public int clusterOf(int site) {
        int left = site;
        for (int i = 0; i < clusters.size(); i++) {
            left -= clusters.get(i).sites;
            if (left < 0) {
                return i;
            }
        }
        throw new IllegalArgumentException("no site " + site);
    }

    /** All sites. */
    public Set<Integer> all() {
        Set<Integer> all = new TreeSet<>();
        for (int site = 0; site < sites(); site++) {
            all.add(site);
        }
        return all;
    }

    /** The sites of each cluster, by name. */
    public Map<String, Set<Integer>> byCluster() {
        Map<String, Set<Integer>> by = new TreeMap<>();
        for (int site = 0; site < sites(); site++) {
            by.computeIfAbsent(clusters.get(clusterOf(site)).name, _ -> new TreeSet<>()).add(site);
        }
        return by;
    }

    /** The name of a site: that of its cluster and its number in it, from 1. */
    public String nameOf(int site) {
        int cluster = clusterOf(site);
        int first = clusters.stream().limit(cluster).mapToInt(Cluster::sites).sum();
        return clusters.get(cluster).name + (site - first + 1);
    }

    /** The names of all sites. */
    public List<String> names() {
        List<String> names = new ArrayList<>();
        for (int site = 0; site < sites(); site++) {
            names.add(nameOf(site));
        }
        return names;
    }
}
