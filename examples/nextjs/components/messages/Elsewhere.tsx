import { ExternalLink, ImageOff } from "lucide-react";
import { createContext, type ReactNode, useContext, useState } from "react";
import { Dialog } from "../ui/dialog";

/** Links and images whose URLs come from a model, a tool or a file. Other servers get no request without a click. */

const OPENED = ["http:", "https:", "mailto:"];
const IN_THE_PAGE = ["data:", "blob:"];
const LINK = "font-medium text-primary underline underline-offset-2 wrap-anywhere";

/** True inside a link, because HTML does not allow nested links. */
const InLink = createContext(false);

type ElsewhereProps = { url: string | undefined; className?: string; download?: string; children: ReactNode };

/** A link without a referrer. Shows only the text if the URL is unsafe to open. */
export function Elsewhere({ url, className = LINK, download, children }: ElsewhereProps) {
  const schemes = download === undefined ? OPENED : [...OPENED, ...IN_THE_PAGE];
  if (!schemes.includes(parsed(url)?.protocol ?? "")) return children;
  return (
    <InLink value={true}>
      <a className={className} href={url} download={download} target="_blank" rel="noopener noreferrer">
        {children}
      </a>
    </InLink>
  );
}

type PictureProps = {
  url: string | undefined;
  alt: string | undefined;
  className?: string;
  /** Called if the browser cannot show the image. Without it, the text replaces the image. */
  onBroken?: () => void;
};

/** An image of the message or of this app. Other images become links, or text if the URL is unsafe or inside a link. */
export function Picture({ url, alt, className = "max-w-full rounded-lg", onBroken }: PictureProps) {
  const at = parsed(url);
  const inLink = useContext(InLink);
  const [broken, setBroken] = useState<string>();
  const onError = () => {
    setBroken(url);
    onBroken?.();
  };
  if (url !== undefined && broken === url) return <Broken alt={alt} />;
  if (isOwn(url)) {
    const image = <img className={className} src={url} alt={alt} onError={onError} data-picture />;
    return inLink ? image : <OwnPicture url={url} alt={alt} image={image} />;
  }
  if (at === undefined || !OPENED.includes(at.protocol)) return alt;
  if (inLink) return alt || "Image";
  return (
    <Elsewhere className={`${LINK} inline-flex items-center gap-1.5 text-sm`} url={url}>
      <ExternalLink className="size-3.5 shrink-0" aria-hidden />
      <span>
        Show image from {at.host}
        {alt ? `: ${alt}` : ""}
      </span>
    </Elsewhere>
  );
}

/** Replaces an image that the browser cannot show. */
function Broken({ alt }: Pick<PictureProps, "alt">) {
  return (
    <span className="inline-flex max-w-full items-center gap-1.5 text-sm text-muted-foreground" data-broken>
      <ImageOff className="size-4 shrink-0" aria-hidden />
      <span className="min-w-0 wrap-anywhere">{alt || "Image"}</span>
    </span>
  );
}

type OwnPictureProps = Pick<PictureProps, "url" | "alt"> & { image: ReactNode };

/** An image that opens at its full size. */
function OwnPicture({ url, alt, image }: OwnPictureProps) {
  const [open, setOpen] = useState(false);
  const name = alt || "Image";
  return (
    <Dialog
      open={open}
      onOpenChange={setOpen}
      title={name}
      place="whole"
      trigger={
        <button
          type="button"
          aria-label={`Enlarge: ${name}`}
          className="w-fit max-w-full cursor-zoom-in self-start rounded-xl in-[[aria-label=You]]:self-end"
        >
          {image}
        </button>
      }
    >
      <div className="grid min-h-0 flex-1 place-items-center overflow-auto p-4" tabIndex={0}>
        <img className="size-full object-contain" src={url} alt={alt} />
      </div>
    </Dialog>
  );
}

/** Placeholder for this app's origin, which is unknown during server rendering. */
const HERE = "http://here.invalid";

/** True if the URL points to this app or is a `data:` URL, so no other server gets a request. */
export function isOwn(url: string | undefined): boolean {
  const at = parsed(url);
  return at !== undefined && (IN_THE_PAGE.includes(at.protocol) || at.origin === HERE);
}

/** The parsed URL, relative to this app. `undefined` if it is invalid. */
function parsed(url: string | undefined): URL | undefined {
  return url && URL.canParse(url, HERE) ? new URL(url, HERE) : undefined;
}
