// The icons, drawn here so that nothing is fetched from elsewhere. All are decoration: buttons carry labels.
import type { ReactNode } from "react";

function Icon({ children }: { children: ReactNode }) {
  return (
    <svg
      className="icon"
      viewBox="0 0 24 24"
      width="18"
      height="18"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.75"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      {children}
    </svg>
  );
}

export const CopyIcon = () => (
  <Icon>
    <rect x="9" y="9" width="11" height="11" rx="2.5" />
    <path d="M15 5.5A1.5 1.5 0 0 0 13.5 4h-8A1.5 1.5 0 0 0 4 5.5v8A1.5 1.5 0 0 0 5.5 15" />
  </Icon>
);

export const CheckIcon = () => (
  <Icon>
    <path d="m5 12.5 4.5 4.5L19 7.5" />
  </Icon>
);

export const PencilIcon = () => (
  <Icon>
    <path d="m4 20 1-4.2L16.6 4.2a1.7 1.7 0 0 1 2.4 0l.8.8a1.7 1.7 0 0 1 0 2.4L8.2 19 4 20Z" />
    <path d="m14.5 6.5 3 3" />
  </Icon>
);

export const BinIcon = () => (
  <Icon>
    <path d="M4.5 7h15M9.5 7V4.5h5V7M6.5 7l.9 12.5h9.2L17.5 7M10.3 11v5M13.7 11v5" />
  </Icon>
);

export const RetryIcon = () => (
  <Icon>
    <path d="M19.5 12a7.5 7.5 0 1 1-2.4-5.5M19.5 3.5V8H15" />
  </Icon>
);

export const PlusIcon = () => (
  <Icon>
    <path d="M12 5v14M5 12h14" />
  </Icon>
);

export const SendIcon = () => (
  <Icon>
    <path d="M12 19V5.5M5.8 11.5 12 5.2l6.2 6.3" />
  </Icon>
);

export const StopIcon = () => (
  <Icon>
    <rect x="7" y="7" width="10" height="10" rx="1.8" fill="currentColor" />
  </Icon>
);

export const MenuIcon = () => (
  <Icon>
    <path d="M4 7h16M4 12h16M4 17h10" />
  </Icon>
);

export const CloseIcon = () => (
  <Icon>
    <path d="m6 6 12 12M18 6 6 18" />
  </Icon>
);

export const LeaveIcon = () => (
  <Icon>
    <path d="M14 4.5H6.5A1.5 1.5 0 0 0 5 6v12a1.5 1.5 0 0 0 1.5 1.5H14M10.5 12H20m-3.2-3.5L20.3 12l-3.5 3.5" />
  </Icon>
);

export const DownIcon = () => (
  <Icon>
    <path d="M12 5v13.5M5.8 12.5 12 18.8l6.2-6.3" />
  </Icon>
);

export const BackIcon = () => (
  <Icon>
    <path d="m14.5 6-6 6 6 6" />
  </Icon>
);

export const ForthIcon = () => (
  <Icon>
    <path d="m9.5 6 6 6-6 6" />
  </Icon>
);

/** The mark of Parley: two voices that meet. */
export const Mark = () => (
  <svg className="mark" viewBox="0 0 32 32" width="28" height="28" aria-hidden="true">
    <path
      className="mark-one"
      d="M3 13.5C3 8.3 7.3 4 12.7 4s9.8 4.3 9.8 9.5-4.4 9.5-9.8 9.5c-1.3 0-2.6-.2-3.7-.7L4.2 24l1.3-4.3A9.2 9.2 0 0 1 3 13.5Z"
    />
    <path
      className="mark-two"
      d="M29 19c0-4.7-3.9-8.5-8.7-8.5S11.600 14.300 11.600 19s3.900 8.500 8.700 8.500c1.200 0 2.300-.2 3.300-.6l4.200 1.500-1.100-3.800A8.300 8.300 0 0 0 29 19Z"
    />
  </svg>
);
