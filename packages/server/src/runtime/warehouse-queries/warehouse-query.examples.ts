/** A successful query of a warehouse. */
import type { Examples } from '../../../testing/place.ts';
import { createQueryingAgent } from '../../../testing/querying-agent.ts';

export const warehouseQueryExamples: Examples = {
  async queryWarehouse(place) {
    const agent = await createQueryingAgent(place.account, place.named('oslo-2'));
    const rows = {
      columns: ['city', 'temperature'],
      rows: [
        ['Bergen', 7],
        ['Oslo', -2.5],
      ],
      isCut: false,
    };
    // The agent responds while the request waits, or not at all if the request is refused.
    void agent.answerNext(rows).catch(() => undefined);
    const sql = 'select city, temperature from weather order by city';
    const body = { environmentName: 'dev', sql, agentId: agent.agentId };
    return { path: `${place.project.path}/warehouse-queries`, body };
  },
};
