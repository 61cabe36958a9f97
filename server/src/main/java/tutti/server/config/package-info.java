/** A node's configuration: one YAML file, read into records that never change afterwards. */
@NullMarked
package tutti.server.config;

import org.jspecify.annotations.NullMarked;
