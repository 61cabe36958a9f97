package tutti.grid.node;
class One {
    public static void main(String[] a) {
        for (long seed = Long.parseLong(a[0]); seed <= Long.parseLong(a[1]); seed++) {
        for (String p : a[2].split(",")) {
        GridRun.Setting s = GridSimulationTest.setting(seed, tutti.grid.CommitProtocol.valueOf(p), tutti.grid.IsolationLevel.valueOf(a[3]), Boolean.parseBoolean(a[4]));
        var o = new GridRun(seed, s).run();
        if (!o.failures().isEmpty() || a.length > 5) System.out.println(seed + " " + p + " " + s + " " + o);
        }}
    }
}
