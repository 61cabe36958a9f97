/** What happens to a real cluster when processes, disks, clients and networks fail. */
@NullMarked
package tutti.cli.faults;

import org.jspecify.annotations.NullMarked;
