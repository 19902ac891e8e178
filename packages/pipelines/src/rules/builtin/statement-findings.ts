/** Findings in the statements of components. */
import type { ReviewedComponent } from '../facts/reviewed-pipeline.ts';
import type { SqlStatement } from '../facts/sql-statements.ts';

/** Reports at most one finding for each component. */
export function checkStatements(
  components: readonly ReviewedComponent[],
  find: (statement: SqlStatement) => string | undefined,
  report: (component: ReviewedComponent, parameter: string, found: string) => void,
): void {
  for (const component of components) {
    for (const { parameter, statements } of component.sql) {
      const found = statements.map(find).find((each) => each !== undefined);
      if (found === undefined) continue;
      report(component, parameter, found);
      break;
    }
  }
}
