/** Databases that run inside the Java virtual machine, H2 and HSQLDB, as replicas' engines. */
@NullMarked
package tutti.engine.jdbc;

import org.jspecify.annotations.NullMarked;
