/** The quality gate of an environment, in the table `environment`. */
import type { QualityGate, QualityRule } from '@headgate/contract';
import {
  type ColumnTypes,
  conflictCode,
  type RowOf,
  statement,
  type Transaction,
  typed,
} from '../../kernel/database/database.ts';

export const gateRow = {
  quality_gate: typed<QualityGate>('text'),
  /** Null: those of the version. */
  quality_gate_rules: typed<QualityRule[] | null>('jsonb'),
} satisfies ColumnTypes;
export type Gate = RowOf<typeof gateRow>;
/** SQL: of the environment `e`. */
export const gateColumns = 'e.quality_gate, e.quality_gate_rules';

// An environment that does not exist refuses the version by a foreign key.
const requireSame = statement(
  {
    parameters: {
      account_id: 'uuid',
      project_id: 'uuid',
      environment_name: 'text',
      quality_gate: 'text',
      quality_gate_rules: 'jsonb?',
    },
  },
  `
  select case when e.quality_gate <> $quality_gate or e.quality_gate_rules is distinct from $quality_gate_rules
    then refuse('${conflictCode}') end
  from (
    select ${gateColumns} from environment e
    where e.account_id = $account_id and e.project_id = $project_id and e.name = $environment_name for share) e`,
);

/**
 * Keeps the gate of the environment until the end of the transaction, and fails it with `concurrent-change` if it is
 * not the one by which the version was judged.
 */
export function requireUnchangedGate(
  tx: Transaction,
  accountId: string,
  { projectId, environmentName }: { projectId: string; environmentName: string },
  { quality_gate, quality_gate_rules: rules }: Gate,
): void {
  tx.send(requireSame, {
    ...{ account_id: accountId, project_id: projectId, environment_name: environmentName },
    ...{ quality_gate, quality_gate_rules: rules === null ? null : JSON.stringify(rules) },
  });
}
