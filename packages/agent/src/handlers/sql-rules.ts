import type { ProjectWarehouse } from '@headgate/contract';
import type { SqlRules } from '@headgate/pipelines';

/** What a project says of its SQL, in the words of the rewriter. */
export function readSqlRules({ sqlDialect, ignoreAccessStatements }: ProjectWarehouse): SqlRules {
  return {
    vendor: sqlDialect === 'REDSHIFT' ? 'redshift' : 'snowflake',
    ignoresAccess: ignoreAccessStatements ?? false,
  };
}
