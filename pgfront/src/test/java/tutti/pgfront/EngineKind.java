package tutti.pgfront;

import tutti.engine.jdbc.InProcessEngine;
import tutti.engine.jdbc.h2.H2Engine;
import tutti.engine.jdbc.hsqldb.HsqldbEngine;

/** Engines that the front end is tested with. */
enum EngineKind {
    H2, HSQLDB;

    InProcessEngine engine() {
        return switch (this) {
            case H2 -> new H2Engine();
            case HSQLDB -> new HsqldbEngine();
        };
    }
}
