// Pages before running servers: see harness/pages.js.
import { follow, Page } from '../harness/pages.js';

await follow(Page);
