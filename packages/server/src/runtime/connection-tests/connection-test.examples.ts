/** A successful test of a data warehouse connection. */
import type { Examples } from '../../../testing/place.ts';
import { createTestingAgent } from '../../../testing/testing-agent.ts';

export const connectionTestExamples: Examples = {
  async testDataPlatformConnection({ account, project, named }) {
    const name = named('warehouse');
    await account.admin.post(`${project.path}/data-platform-connections`, {
      name,
      platformConnectionType: 'DWH',
      authProvider: 'POSTGRES',
      authType: 'PASSWORD',
      connectionProperties: {
        host: { value: 'warehouse.example.com' },
        username: { value: 'loader' },
        password: { secretName: 'warehouse-password' },
        database: { value: 'shop' },
      },
    });
    const agent = await createTestingAgent(account, named('oslo-3'));
    // The agent responds while the request waits, or not at all if the request is refused.
    void agent.answerNext({ status: 'OK', serverVersion: '18.0', durationMs: 41 }).catch(() => undefined);
    return {
      path: `${project.path}/data-platform-connections/${name}/test`,
      body: { environmentName: 'dev', agentId: agent.agentId },
    };
  },
};
