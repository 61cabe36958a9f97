package tutti.spring.boot;

import java.io.IOException;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.cache.CacheManager;
import org.springframework.context.annotation.Bean;
import org.springframework.transaction.TransactionManager;
import tutti.grid.api.Grid;
import tutti.spring.GridCacheManager;
import tutti.spring.GridExceptions;
import tutti.spring.GridTransactionManager;

/**
 * Opens the node of this process when {@code tutti.grid.self} is set, and serves caches and transactions by it, unless the application has a
 * manager of its own for these. Behind what makes transaction managers for databases, so that it takes nobody's place; in front of what makes
 * caches.
 */
@AutoConfiguration(afterName = {
        "org.springframework.boot.jdbc.autoconfigure.DataSourceTransactionManagerAutoConfiguration",
        "org.springframework.boot.hibernate.autoconfigure.HibernateJpaAutoConfiguration"}, beforeName = {
                "org.springframework.boot.cache.autoconfigure.CacheAutoConfiguration",
                "org.springframework.boot.transaction.autoconfigure.TransactionAutoConfiguration"})
@EnableConfigurationProperties(GridProperties.class)
@ConditionalOnProperty("tutti.grid.self")
public class GridAutoConfiguration {
    /** Made by Spring. */
    public GridAutoConfiguration() {}

    /** The node; it is closed with the context. */
    @Bean(destroyMethod = "close")
    @ConditionalOnMissingBean
    public Grid tuttiGrid(GridProperties properties) throws IOException {
        return Grid.open(properties.config(), properties.isolation());
    }

    /** Caches. */
    @Bean
    @ConditionalOnBean(Grid.class)
    @ConditionalOnMissingBean(CacheManager.class)
    public GridCacheManager gridCacheManager(Grid grid) {
        return new GridCacheManager(grid);
    }

    /** Transactions. */
    @Bean
    @ConditionalOnBean(Grid.class)
    @ConditionalOnMissingBean(TransactionManager.class)
    public GridTransactionManager gridTransactionManager(Grid grid) {
        return new GridTransactionManager(grid);
    }

    /** Exceptions of {@code @Repository} classes. */
    @Bean
    @ConditionalOnMissingBean
    public GridExceptions gridExceptions() {
        return new GridExceptions();
    }
}
