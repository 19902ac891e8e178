import { createConnectionTestHandler } from './connection-test.ts';
import { createConnectorAuthorizationHandler } from './connector-authorization.ts';
import type { Handlers } from './handler.ts';
import { createPipelineExecutionHandler, type PipelineExecutionDependencies } from './pipeline-execution.ts';
import { createSecretCheckHandler, type SecretCheckDependencies } from './secret-check.ts';
import { createSecretWriteHandler, type SecretWriteDependencies } from './secret-write.ts';
import { createTableReadHandler } from './table-read.ts';
import { createTestExecutionHandler } from './test-execution.ts';
import { createWarehouseQueryHandler } from './warehouse-query.ts';

export type HandlerDependencies = PipelineExecutionDependencies &
  SecretWriteDependencies &
  SecretCheckDependencies;

export function createHandlers(dependencies: HandlerDependencies): Handlers {
  return {
    'pipeline-execution': createPipelineExecutionHandler(dependencies),
    'secret-write': createSecretWriteHandler(dependencies),
    'secret-check': createSecretCheckHandler(dependencies),
    'warehouse-query': createWarehouseQueryHandler(dependencies),
    'table-read': createTableReadHandler(dependencies),
    'test-execution': createTestExecutionHandler(dependencies),
    // Needed rarely, and loads the code of profiles.
    async 'connector-test'(work, context) {
      const { createConnectorTestHandler } = await import('./connector-test.ts');
      return createConnectorTestHandler(dependencies)(work, context);
    },
    'connection-test': createConnectionTestHandler(dependencies),
    'connector-authorization': createConnectorAuthorizationHandler(dependencies),
  };
}
