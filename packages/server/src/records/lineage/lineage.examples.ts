/** A request that succeeds for each operation on lineage. */
import { createEndedExecution } from '../../../testing/executions.ts';
import type { Examples, Place } from '../../../testing/place.ts';

const day = 86_400_000;

async function runPipeline(place: Place): Promise<string> {
  await createEndedExecution(place);
  await place.account.updateLineage();
  return place.project.path;
}

export const lineageExamples: Examples = {
  async listLineageEvents(place) {
    await createEndedExecution(place);
    const [from, before] = [-day, day].map((away) => new Date(place.now.getTime() + away).toISOString());
    return { path: `/lineage/events?generatedFrom=${from}&generatedBefore=${before}&size=2` };
  },
  async getLineageGraph(place) {
    const path = await runPipeline(place);
    const query = 'environmentName=dev&column=sales.orders.amount&direction=DOWNSTREAM';
    return { path: `${path}/lineage/graph?${query}` };
  },
  listDatasets: async (place) => ({ path: `${await runPipeline(place)}/datasets?environmentName=dev` }),
};
