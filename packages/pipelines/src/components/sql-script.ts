/** Runs SQL statements of the user, in order. */
import { ParameterError } from '../parameters.ts';
import { splitStatements } from '../sql/statements.ts';
import type { OrchestrationDefinition } from './component.ts';

export const sqlScript: OrchestrationDefinition = {
  kind: 'orchestration',
  warehouse: true,
  required: ['sqlScript'],
  optional: [],
  plan({ parameters }) {
    const statements = splitStatements(parameters.text('sqlScript'));
    if (statements.length === 0) throw new ParameterError('"sqlScript" holds no statement: fill it in');
    return { action: 'execute', statements };
  },
};
