/** Successful reads of the tables of a warehouse. */
import type { TableReadResult } from '@headgate/contract';
import type { Examples, Place } from '../../../testing/place.ts';
import { createQueryingAgent } from '../../../testing/querying-agent.ts';

const weather = { schema: 'main', name: 'weather', kind: 'TABLE', rows: 2 } as const;
const columns = [
  { name: 'city', type: 'VARCHAR', nullable: false, comment: 'Where it was measured' },
  { name: 'temperature', type: 'DOUBLE', nullable: true },
];

/** The agent responds while the request waits, or not at all if the request is refused. */
async function answer(place: Place, agentName: string, result: TableReadResult): Promise<string> {
  const agent = await createQueryingAgent(place.account, place.named(agentName));
  void agent.answerRead(result).catch(() => undefined);
  return agent.agentId;
}

export const warehouseTableExamples: Examples = {
  async listWarehouseTables(place) {
    const agentId = await answer(place, 'oslo-4', { tables: [weather], total: 1 });
    return { path: `${place.project.path}/environments/dev/tables?name=weather&agentId=${agentId}` };
  },
  async getWarehouseTable(place) {
    const agentId = await answer(place, 'oslo-5', { table: { ...weather, columns } });
    return { path: `${place.project.path}/environments/dev/tables/main.weather?agentId=${agentId}` };
  },
  async previewWarehouseTable(place) {
    const rows = [
      ['Bergen', 7],
      ['Oslo', -2.5],
    ];
    const preview = { columns: ['city', 'temperature'], rows, isCut: false, cutColumns: [] };
    const agentId = await answer(place, 'oslo-6', { preview });
    const query = `limit=20&agentId=${agentId}`;
    return { path: `${place.project.path}/environments/dev/tables/main.weather/preview?${query}` };
  },
};
