/** What a run asks the agent for when it calls an endpoint, and what it gets. */
import type { EndpointValues } from '@headgate/pipelines';

/** An endpoint of a profile of the run's version, by the number of its artifact. */
export interface AskedEndpoint {
  artifact: number;
  path: string;
  /** Its id. */
  endpoint: string;
  connection: Readonly<Record<string, unknown>>;
  values: EndpointValues;
}

export interface AnsweredPage {
  /** The address of the request, without secrets. */
  url: string;
  status: number;
  link?: string;
  contentType?: string;
  text: string;
}
