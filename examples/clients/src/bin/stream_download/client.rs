use http_retry::RetryPolicy;
use http_retry::reqwest::RetryMiddleware;
use reqwest::Url;
use reqwest_middleware::ClientBuilder;
use std::error::Error;
use stream_download::http::HttpStream;
use stream_download::storage::temp::TempStorageProvider;
use stream_download::{Settings, StreamDownload};

pub async fn open(url: Url) -> Result<StreamDownload<TempStorageProvider>, Box<dyn Error>> {
    let client = ClientBuilder::new(reqwest::Client::new())
        .with(RetryMiddleware::new(RetryPolicy::background()))
        .build();
    let stream = HttpStream::new(client, url).await?;
    let storage = TempStorageProvider::new();
    Ok(StreamDownload::from_stream(stream, storage, Settings::default()).await?)
}
