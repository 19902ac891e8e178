import type { ProjectWarehouse } from '@headgate/contract';
import type { SqlRules } from '@headgate/pipelines';
import { nameCatalog } from '../host/folders.ts';

/** What a project says of its SQL, in the words of the rewriter. */
export function readSqlRules(
  { sqlDialect, ignoreAccessStatements }: ProjectWarehouse,
  environmentName: string,
): SqlRules {
  return {
    catalog: nameCatalog(environmentName),
    vendor: sqlDialect === 'REDSHIFT' ? 'redshift' : 'snowflake',
    ignoresAccess: ignoreAccessStatements ?? false,
  };
}
